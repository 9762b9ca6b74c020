"""Optimizers, gradient transformations, schedules and losses: names and semantics of optax.

optimizer = adam(1e-3)
state = optimizer.init(params)
updates, state = optimizer.update(grad(loss)(params), state, params)
params = apply_updates(params, updates)
"""

from frit.optim import losses, schedules, tree, tree_utils
from frit.optim.accumulation import (
    ApplyEvery,
    EmaState,
    MultiSteps,
    MultiStepsState,
    TraceState,
    apply_every,
    ema,
    skip_large_updates,
    skip_not_finite,
    trace,
)
from frit.optim.adding import (
    AddDecayedWeightsState,
    AddNoiseState,
    WeightDecaySchedule,
    add_decayed_weights,
    add_noise,
)
from frit.optim.aliases import (
    adabelief,
    adadelta,
    adafactor,
    adagrad,
    adam,
    adamax,
    adamaxw,
    adamw,
    adan,
    amsgrad,
    fromage,
    lamb,
    lars,
    lbfgs,
    lion,
    nadam,
    nadamw,
    noisy_sgd,
    novograd,
    optimistic_adam_v2,
    optimistic_gradient_descent,
    polyak_sgd,
    radam,
    rmsprop,
    rprop,
    sgd,
    sign_sgd,
    signum,
    sm3,
    yogi,
)
from frit.optim.base import (
    NO_PARAMS_MSG,
    EmptyState,
    GradientTransformation,
    GradientTransformationExtraArgs,
    OptState,
    Params,
    ScalarOrSchedule,
    Schedule,
    ScheduleState,
    StatefulSchedule,
    Updates,
    apply_updates,
    identity,
    incremental_update,
    init_empty_state,
    periodic_update,
    set_to_zero,
    stateless,
    stateless_with_tree_map,
    with_extra_args_support,
)
from frit.optim.clipping import (
    AdaptiveGradClipState,
    ClipByGlobalNormState,
    ClipState,
    adaptive_grad_clip,
    clip,
    clip_by_block_rms,
    clip_by_global_norm,
    per_example_global_norm_clip,
    per_example_layer_norm_clip,
    unitwise_clip,
    unitwise_norm,
)
from frit.optim.combining import (
    MaskedNode,
    MaskedState,
    MultiTransformState,
    PartitionState,
    chain,
    flatten,
    freeze,
    masked,
    multi_transform,
    named_chain,
    partition,
    selective_transform,
)
from frit.optim.conditions import (
    ApplyIfFiniteState,
    ConditionallyMaskState,
    ConditionallyTransformState,
    MonitorState,
    NonNegativeParamsState,
    SnapshotState,
    ZeroNansState,
    apply_if_finite,
    conditionally_mask,
    conditionally_transform,
    keep_params_nonnegative,
    measure_with_ema,
    monitor,
    snapshot,
    zero_nans,
)
from frit.optim.factored import (
    FactoredState,
    scale_by_factored_rms,
)
from frit.optim.injecting import (
    InjectHyperparamsState,
    InjectStatefulHyperparamsState,
    WrappedSchedule,
    WrappedScheduleState,
    inject_hyperparams,
    inject_stateful_hyperparams,
)
from frit.optim.lbfgs import (
    ScaleByLBFGSState,
    scale_by_lbfgs,
)
from frit.optim.lookahead import (
    LookaheadParams,
    LookaheadState,
    lookahead,
)
from frit.optim.losses.classification import (
    convex_kl_divergence,
    generalized_kl_divergence,
    hinge_loss,
    kl_divergence,
    kl_divergence_with_log_targets,
    multiclass_hinge_loss,
    multiclass_perceptron_loss,
    perceptron_loss,
    poly_loss_cross_entropy,
    safe_softmax_cross_entropy,
    sigmoid_binary_cross_entropy,
    sigmoid_focal_loss,
    smooth_labels,
    softmax_cross_entropy,
    softmax_cross_entropy_with_integer_labels,
)
from frit.optim.losses.regression import (
    cosine_distance,
    cosine_similarity,
    huber_loss,
    l2_loss,
    log_cosh,
    squared_error,
    triplet_margin_loss,
)
from frit.optim.losses.sequences import (
    ctc_loss,
    ctc_loss_with_forward_probs,
    ntxent,
)
from frit.optim.moments import (
    ScaleByAdamState,
    ScaleByAdanState,
    ScaleByAmsgradState,
    ScaleByBeliefState,
    ScaleByLionState,
    ScaleByNovogradState,
    scale_by_adam,
    scale_by_adamax,
    scale_by_adan,
    scale_by_amsgrad,
    scale_by_belief,
    scale_by_lion,
    scale_by_novograd,
    scale_by_radam,
    scale_by_yogi,
)
from frit.optim.numerics import (
    abs_sq,
    safe_increment,
    safe_int32_increment,
    safe_norm,
    safe_root_mean_squares,
)
from frit.optim.scaling import (
    ScaleByDistanceOverGradientsState,
    ScaleByOptimisticGradientState,
    ScaleByRpropState,
    ScaleByScheduleState,
    ScaleByTrustRatioState,
    ScaleState,
    centralize,
    normalize_by_update_norm,
    scale,
    scale_by_distance_over_gradients,
    scale_by_learning_rate,
    scale_by_optimistic_gradient,
    scale_by_param_block_norm,
    scale_by_param_block_rms,
    scale_by_polyak,
    scale_by_rprop,
    scale_by_schedule,
    scale_by_sign,
    scale_by_trust_ratio,
)
from frit.optim.schedules import (
    constant_schedule,
    cosine_decay_schedule,
    cosine_onecycle_schedule,
    exponential_decay,
    join_schedules,
    linear_onecycle_schedule,
    linear_schedule,
    piecewise_constant_schedule,
    piecewise_interpolate_schedule,
    polynomial_schedule,
    sgdr_schedule,
    warmup_constant_schedule,
    warmup_cosine_decay_schedule,
    warmup_exponential_decay_schedule,
)
from frit.optim.second_moments import (
    ScaleByAdaDeltaState,
    ScaleByRmsState,
    ScaleByRmsWithCountState,
    ScaleByRssState,
    ScaleByRStdDevState,
    ScaleByRStdDevWithCountState,
    ScaleBySM3State,
    scale_by_adadelta,
    scale_by_rms,
    scale_by_rss,
    scale_by_sm3,
    scale_by_stddev,
)

bias_correction = tree.bias_correction
global_norm = tree.norm
tree_map_params = tree.map_params
update_infinity_moment = tree.update_infinity_moment
update_moment = tree.update_moment
update_moment_per_elem_norm = tree.update_moment_per_elem_norm

"""Every law on every sample."""

import pytest

from tests.laws import LAWS, Inapplicable
from tests.samples import all_samples

SAMPLES = all_samples()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_law(sample, law):
    if law in sample.without:
        pytest.skip(sample.without[law])
    try:
        LAWS[law](sample)
    except Inapplicable as reason:
        pytest.skip(str(reason))


def test_exceptions_name_laws():
    assert all(name in LAWS for sample in SAMPLES for name in sample.without)

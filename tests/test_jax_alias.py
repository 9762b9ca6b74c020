"""Programs that import jax run on frit; each test runs in a process of its own."""

import subprocess
import sys
import textwrap

import pytest


def python(*arguments, cwd=None):
    """(exit status, standard output, standard error) of Python in a new process."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def after_install(code):
    """What `code` prints after the alias is in place."""
    program = "import frit.jax_alias; frit.jax_alias.install()\n" + textwrap.dedent(code)
    status, out, err = python("-c", program)
    assert status == 0, err
    return out


def test_modules_are_frit_s_own():
    out = after_install("""
        import jax, jax.numpy as jnp, frit
        from jax import lax, random
        from jax.tree_util import tree_map
        import jax.errors
        print(jax.__version__, jax.__version_info__)
        print(jnp is frit.numpy, lax is frit.lax, jax.errors is frit.errors, jax.jit is frit.jit)
        print(frit.numpy.__name__, frit.numpy.__spec__.name, frit.__version__ != jax.__version__)
        print(float(jax.grad(jnp.sin)(0.0)), tree_map(lambda x: x + 1, [1]))
    """)
    assert out.splitlines() == [
        "0.10.2 (0, 10, 2)",
        "True True True True",
        "frit.numpy frit.numpy True",
        "1.0 [2]",
    ]


def test_versions_are_found_where_programs_look():
    out = after_install("""
        import importlib.metadata, jaxlib, jaxlib.version, jax.version
        print(importlib.metadata.version("jax"), importlib.metadata.version("jaxlib"))
        print(jaxlib.__version__, jaxlib.version.__version__, jax.version.__version__)
    """)
    assert set(out.split()) == {"0.10.2"}


def test_private_names_have_stand_ins_or_say_that_they_have_none():
    out = after_install("""
        import frit
        from jax._src import config, core, dtypes, util
        from jax._src.core import ShapedArray
        import jax._src.xla_bridge as xb
        print(config.enable_x64.value, dtypes.to_numeric_dtype(bool), util.unzip2([(1, 2), (3, 4)]))
        print(ShapedArray is frit.core.ShapedArray, xb.get_backend().platform)
        try:
            core.something_else
        except AttributeError as error:
            print(error)
        try:
            from jax._src.core import something_else
        except ImportError as error:
            print("ImportError")
        try:
            import jax._src.no_such_module
        except ModuleNotFoundError as error:
            print(error)
    """)
    assert "False int32 ((1, 3), (2, 4))" in out
    assert "True cpu" in out
    assert "jax._src.core.something_else is private to jax" in out
    assert "ImportError" in out
    assert "no module '_src.no_such_module'" in out


def test_after_uninstall_jax_is_jax_again():
    out = after_install("""
        import sys, jax.numpy
        frit.jax_alias.install()
        frit.jax_alias.uninstall()
        print(frit.jax_alias.installed(), [name for name in sys.modules if name[:3] == "jax"])
    """)
    assert out.strip() == "False []"


def test_install_refuses_once_jax_is_there():
    code = """
        import sys, types
        sys.modules["jax"] = types.ModuleType("jax")
        import frit.jax_alias
        frit.jax_alias.install()
    """
    status, _, err = python("-c", textwrap.dedent(code))
    assert status == 1
    assert "jax was imported before frit.jax_alias.install()" in err


PROGRAM = """
import sys
import jax
import jax.numpy as jnp
from helper import scale
print(__name__, sys.argv[1:], float(jax.jit(jnp.sum)(scale * jnp.arange(3.0))), jax.__version__)
"""


@pytest.mark.parametrize("how", [["script.py"], ["-m", "script"]], ids=["script", "module"])
def test_run_a_program(tmp_path, how):
    (tmp_path / "script.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("scale = 2\n")
    status, out, err = python("-m", "frit", "run", *how, "--flag", "x", cwd=tmp_path)
    assert status == 0, err
    assert out.strip() == "__main__ ['--flag', 'x'] 6.0 0.10.2"


def test_run_without_a_program_says_what_to_name(tmp_path):
    status, _, err = python("-m", "frit", "run")
    assert status == 2 and "name a script, or -m and a module" in err
    status, _, err = python("-m", "frit", "run", "nothing.py", cwd=tmp_path)
    assert status == 2 and "no file 'nothing.py'" in err


def test_suites_of_jax_run_with_frozen_captures():
    code = (
        "from frit.jax_alias import private; from frit.config import captures\n"
        "before = captures.value; private.PRIVATE; print(before, captures.value)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["retrace", "freeze"]

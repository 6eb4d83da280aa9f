import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import oskaar


def test_import_is_light():
    """Only NumPy and SciPy come along; what is heavy or optional is imported where it is used."""
    code = "import sys, oskaar; print(' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"sklearn", "river", "pandas", "matplotlib", "numba", "hypothesis", "pytest", "threadpoolctl"}
    code = "import sys, oskaar; print('scipy.spatial' in sys.modules)"
    heavy = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert heavy.strip() == "False"


def test_everything_public_has_a_name():
    assert oskaar.__version__
    for name in oskaar.__all__:
        assert hasattr(oskaar, name)


@pytest.mark.parametrize("name", ["losses", "features", "theory", "state"])
def test_names_that_are_imported_when_used(name):
    """Every public name is found; dir() shows them; others are not there."""
    package = importlib.import_module(f"oskaar.{name}")
    assert package.__all__ == dir(package)
    assert len(package.__all__) > 8
    for n in package.__all__:
        assert getattr(package, n) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_one_version():
    """The package, the changelog and the citation agree on version and date; Python versions are declared."""
    root = Path(__file__).parents[1]
    version, date = re.search(r"^## (\S+) \((\S+)\)$", (root / "CHANGELOG.md").read_text(), re.M).groups()
    cited = (root / "CITATION.cff").read_text()
    assert oskaar.__version__ == version
    assert f"version: {version}\ndate-released: {date}\n" in cited
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    least = int(re.fullmatch(r">=3\.(\d+)", project["requires-python"])[1])
    declared = [int(minor) for minor in re.findall(r":: 3\.(\d+)", "\n".join(project["classifiers"]))]
    assert declared == list(range(least, least + len(declared)))

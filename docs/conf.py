"""How the site is built: `make docs`, offline, warnings are errors."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE / "_ext")]

import oskaar  # noqa: E402

project = "oskaar"
copyright = "the oskaar developers"
version = release = oskaar.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "apipages",  # docs/_ext: a page for each public module, found by itself
    "plaindocs",  # docs/_ext: docstrings are plain text
]
exclude_patterns = ["_build"]
suppress_warnings = ["config.cache"]
nitpicky = True
INTERNAL = (
    "inputs.stores.Store",
    "kernels.kept.KeptRows",
    "kernels.kept.Over",
    "learners.calibration.Calibration",
    "losses.base.Names",
    "losses.certainty.Marginals",
    "losses.ranges.Range",
    "saved.Thing",
)
nitpick_ignore = [
    ("py:class", f"oskaar.{name}") for name in (*INTERNAL, "schema.tables.Columns", "schema.tables.Records")
]
nitpick_ignore_regex = [("py:.*", r"(?!oskaar\.).*")]  # types of other libraries: the site is built without the net

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
highlight_language = "none"
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_inherit_docstrings = False
autosummary_generate = False

html_theme = "furo"
html_title = f"oskaar {version}"
html_static_path = ["_static"]
html_css_files = ["oskaar.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

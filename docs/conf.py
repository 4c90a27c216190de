"""Sphinx settings. `make docs` builds build/docs/html and fetches nothing; see generate/ for what pages do."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("MPLBACKEND", "Agg")

from mfpde import __version__

project = "mfpde"
author = "The mfpde developers"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "generate.pages",
    "generate.docstrings",
    "generate.mathml",
]
exclude_patterns = ["generate"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"Float": "ndarray", "Complex": "ndarray", "AnyArray": "array_like"}
python_use_unqualified_type_names = True
add_module_names = False
default_role = "code"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"mfpde {release}"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["mfpde.css"]
html_copy_source = False

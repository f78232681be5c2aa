"""Sphinx settings of the documentation, built by ``make docs``.

The source folder is the root of the repository, so that links between pages, results, examples and code are the same in
the site and in the repository. Pages of the reference are made from the tables of estimators (``reference.py``), the
gallery from ``examples/gallery``.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "hingeline"
author = "The hingeline developers"
copyright = "the hingeline developers, BSD-3-Clause"
release = version = version_of("hingeline")

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "benchmarks/README.md",
    "benchmarks/results/**.md",
    "cpp/README.md",
    "examples/README.md",
    "*.md",
]
exclude_patterns = [
    ".*",
    "build",
    "out",
    "src",
    "tests",
    "tools",
    "recipe",
    "docs/site",
    "docs/develop/skeleton",
    "README.md",
]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "reference",
]

myst_enable_extensions = ["colon_fence", "dollarmath", "attrs_inline", "html_image"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
add_module_names = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "hingeline"
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "hingeline"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"docs/index": [], "docs/changes": []}


def order_of_examples(name: str) -> int:
    """Place of an example in the gallery: the order in which examples/gallery/order.txt names them."""
    order = (HERE.parents[1] / "examples" / "gallery" / "order.txt").read_text(encoding="utf-8").split()
    return order.index(Path(name).name)


sphinx_gallery_conf = {
    "examples_dirs": ["examples/gallery"],
    "gallery_dirs": ["docs/gallery"],
    "filename_pattern": "plot_",
    "within_subsection_order": "conf.order_of_examples",
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "thumbnail_size": (560, 320),
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "doc_module": ("hingeline",),
    "reference_url": {"hingeline": None},
    "backreferences_dir": "docs/reference/examples",
    "inspect_global_variables": False,
    "min_reported_time": 1e9,
}
suppress_warnings = ["config.cache"]

# One thread for each library: the examples print times.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
warnings.filterwarnings("ignore", category=UserWarning, message="FigureCanvasAgg is non-interactive")

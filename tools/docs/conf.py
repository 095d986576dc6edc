# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Settings of Sphinx. build.py copies this file next to the pages that it has gathered."""

import headrace

project = "Headrace"
copyright = "The Headrace authors"
release = headrace.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
suppress_warnings = ["myst.header"]
autodoc_mock_imports = ["torch"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
html_theme = "furo"
html_title = "Headrace"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_domain_indices = False
copybutton_exclude = ".linenos, .gp, .go"
napoleon_use_ivar = True

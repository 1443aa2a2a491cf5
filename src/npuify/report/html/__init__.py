"""The report as one HTML file that opens offline: charts, a table to filter, and every change with its code.

Whatever comes from the project is hostile until :mod:`npuify.html.escape` has treated it, and reaches the page
in two ways only: escaped as text, or inside a JSON block that the page's script puts in place as text.
"""

from npuify.report.html.page import render, style

__all__ = ["render", "style"]

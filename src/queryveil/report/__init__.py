"""Reports: static, self-contained HTML documents made from Jinja templates, with SVG charts."""

from queryveil.report.release_report import render_release_report

__all__ = ["render_release_report"]

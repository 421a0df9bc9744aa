"""Memory from other products and for them: import with a preview, and export without lock-in."""

from longmind.interchange.exporter import EXPORT_FORMATS, ExportReport, export_memory
from longmind.interchange.formats import FORMATS, detect_format
from longmind.interchange.importer import apply_import, preview_import
from longmind.interchange.report import ImportReport

__all__ = [
    "EXPORT_FORMATS",
    "FORMATS",
    "ExportReport",
    "ImportReport",
    "apply_import",
    "detect_format",
    "export_memory",
    "preview_import",
]

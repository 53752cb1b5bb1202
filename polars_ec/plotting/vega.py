"""The libraries that draw charts on pages: one script, taken from vl-convert (`make vega`).

Every page carries it, and so the licences, which stand at its top.
"""

from __future__ import annotations

from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, after their licences. Needs vl-convert."""
    import vl_convert

    versions = f"Vega {vl_convert.get_vega_version()}, Vega-Embed {vl_convert.get_vega_embed_version()}"
    licences = (ASSETS / "vega.LICENSE").read_text("utf-8")
    return f"/*!\n{versions}\n\n{licences}*/\n{vl_convert.javascript_bundle(_SNIPPET)}\n"


if __name__ == "__main__":
    (ASSETS / "vega.js").write_text(bundle(), "utf-8")

"""Theme of the page, matching the report; page.css has the rest."""

import gradio as gr

BLUE = gr.themes.Color(
    "#eef6fb", "#e8f2f9", "#cfe4f2", "#a6cee8", "#56b4e9", "#0072b2", "#0068a3", "#005a8d",
    "#004a75", "#003a5c", "#00263d",
)  # fmt: skip
"""Shades of the report's accent colour."""
INK = gr.themes.Color(
    "#ffffff", "#f5f7f8", "#dfe3e6", "#c6ccd1", "#aab2b9", "#5b646c", "#4a5259", "#39414a",
    "#262d34", "#1d2328", "#14181c",
)  # fmt: skip

THEME = gr.themes.Base(
    primary_hue=BLUE,
    neutral_hue=INK,
    radius_size=gr.themes.sizes.radius_sm,
    font=("system-ui", "-apple-system", "Segoe UI", "Roboto", "Arial", "sans-serif"),
    font_mono=("ui-monospace", "Menlo", "Consolas", "monospace"),
).set(
    body_text_color_subdued="*neutral_500",
    body_text_color_subdued_dark="*neutral_400",
    block_label_text_color="*neutral_600",
    block_info_text_color="*neutral_500",
    block_info_text_color_dark="*neutral_400",
    button_primary_background_fill="*primary_500",
    button_primary_background_fill_dark="*primary_500",
    button_primary_background_fill_hover="*primary_700",
    button_primary_background_fill_hover_dark="*primary_600",
    button_primary_text_color="white",
    slider_color="*primary_500",
    slider_color_dark="*primary_400",
)

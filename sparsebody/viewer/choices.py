"""Names of what a page can show: colors, views and themes; quick to import."""

COLORS = ("plain", "speed", "energy", "load", "order")
VIEWS = ("default", "front", "side", "top", "iso")  # of page/src/cameras.js
THEMES = ("light", "dark")  # of page/src/colors.js

"""The spanning-tree baseline: dynamics in joint coordinates. Featherstone (2008), chs. 4 to 8."""

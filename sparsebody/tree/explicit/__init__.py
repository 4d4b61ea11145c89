"""Explicit constraints qdd = G ydd + g, on dense matrices. Featherstone (2008), chs. 3 and 8."""

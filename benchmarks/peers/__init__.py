"""Other engines, one file each: functions of a Problem that return what a study prepares and times.

`linear.py` has no engine but general sparse solvers on our matrix.
"""

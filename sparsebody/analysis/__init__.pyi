"""Public names of `sparsebody.analysis`, loaded at first use."""

# ruff: noqa: I001

# Reactions
from .reactions import (
    ReactionReport as ReactionReport,
    determined_reactions as determined_reactions,
)
from .advice import Advice as Advice, advise as advise, apply_advice as apply_advice

# Loops
from .cycle_bases import compare_loop_bases as compare_loop_bases

# Orders and algorithms
from .order_comparison import (
    compare_orderings as compare_orderings,
    compare_pattern as compare_pattern,
    judge_order as judge_order,
    compare_algorithms as compare_algorithms,
)

# Costs
from .cost_prediction import CostPrediction as CostPrediction, predict_cost as predict_cost

# Mechanisms
from .inspection import inspect_mechanism as inspect_mechanism

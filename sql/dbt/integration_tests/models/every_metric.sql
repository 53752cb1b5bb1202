{{ polars_ec.report(ref('scores'), 'p', 'late', by=['segment'], metrics=[
    'tn', 'fp', 'fn', 'tp', 'expected_cost', 'bayes_risk', 'nec', 'error_rate', 'accuracy', 'balanced_error_rate', 'balanced_accuracy',
    'precision', 'recall', 'specificity', 'fpr', 'fnr', 'decision_share', 'f1', 'informedness', 'mcc', 'lr_plus', 'lr_minus', 'precision_gain',
    'recall_gain', 'cross_entropy', 'nce', 'brier', 'nbs'], prior=0.1, cost_fn=5, cost_fp=0.5) }}

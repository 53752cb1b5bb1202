{# Written by python -m sql.generate.dbt_macros, from what writes the report for warehouses. #}

{% macro report_parts() %}{{ return({
    "usual": [
        "nec",
        "nce",
        "nbs",
        "precision",
        "f1",
        "recall"
    ],
    "cells": [
        "tn",
        "fp",
        "fn",
        "tp"
    ],
    "losses": {
        "cross_entropy": "log_loss",
        "nce": "log_loss",
        "brier": "brier",
        "nbs": "brier"
    },
    "moved_by_prior": [
        "expected_cost",
        "bayes_risk",
        "nec",
        "error_rate",
        "accuracy",
        "precision",
        "decision_share",
        "f1",
        "mcc",
        "recall_gain",
        "cross_entropy",
        "nce",
        "brier",
        "nbs"
    ],
    "metrics": {
        "tn": "CAST(ec_tn AS $bigint$)",
        "fp": "CAST(ec_fp AS $bigint$)",
        "fn": "CAST(ec_fn AS $bigint$)",
        "tp": "CAST(ec_tp AS $bigint$)",
        "expected_cost": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * (CAST($cost_fn$ AS $double$) * ec_r10) END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * (CAST($cost_fp$ AS $double$) * ec_r01) END",
        "bayes_risk": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * (CAST($cost_fn$ AS $double$) * ec_r10) END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * (CAST($cost_fp$ AS $double$) * ec_r01) END",
        "nec": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * (CAST($cost_fn$ AS $double$) * ec_r10) END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * (CAST($cost_fp$ AS $double$) * ec_r01) END) / NULLIF($least$(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * CAST($cost_fn$ AS $double$) END, CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * CAST($cost_fp$ AS $double$) END), 0)",
        "error_rate": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "accuracy": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r00 END",
        "balanced_error_rate": "CASE WHEN NOT (ec_p1 IS NULL) THEN (ec_r10 + ec_r01) / 2 END",
        "balanced_accuracy": "CASE WHEN NOT (ec_p1 IS NULL) THEN (ec_r11 + ec_r00) / 2 END",
        "precision": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END, 0)",
        "recall": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r11 END",
        "specificity": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r00 END",
        "fpr": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r01 END",
        "fnr": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r10 END",
        "decision_share": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "f1": "CASE WHEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END > 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / ((CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + ($0.5$ * CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END)) + ($0.5$ * CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END)) WHEN (CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) > 0 THEN $0.0$ END",
        "informedness": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END END",
        "mcc": "CASE WHEN (ec_p1 > 0) AND (ec_p0 > 0) THEN (SQRT(ec_p1 * ec_p0) * CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END) / NULLIF(SQRT(((ec_p1 * ec_r11) + (ec_p0 * ec_r01)) * ((ec_p1 * ec_r10) + (ec_p0 * ec_r00))), 0) END",
        "lr_plus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r01 > 0 THEN ec_r11 / ec_r01 WHEN (ec_r01 = 0) AND (ec_r11 > 0) THEN $infinity$ END END",
        "lr_minus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r00 > 0 THEN ec_r10 / ec_r00 WHEN (ec_r00 = 0) AND (ec_r10 > 0) THEN $infinity$ END END",
        "precision_gain": "CASE WHEN NOT (ec_p1 IS NULL) THEN 1 - CASE WHEN ec_r11 > 0 THEN ec_r01 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r01 > 0) THEN $infinity$ END END",
        "recall_gain": "CASE WHEN ((ec_p0 > 0) AND (ec_n0 > 0)) AND ((ec_p1 > 0) OR (ec_r11 > 0)) THEN 1 - ((ec_p1 / ec_p0) * CASE WHEN ec_r11 > 0 THEN ec_r10 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r10 > 0) THEN $infinity$ END) END",
        "cross_entropy": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_log_loss_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_log_loss_0 END",
        "nce": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_log_loss_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_log_loss_0 END) / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ WHEN ec_p1 > $0.5$ THEN ec_p1 * ((ec_p0 - (1 - (1 - ec_p0))) - LN(1 - ec_p0)) ELSE (-ec_p1) * LN(ec_p1) END + CASE WHEN ec_p0 = 0 THEN $0.0$ WHEN ec_p0 > $0.5$ THEN ec_p0 * ((ec_p1 - (1 - (1 - ec_p1))) - LN(1 - ec_p1)) ELSE (-ec_p0) * LN(ec_p0) END, 0)",
        "brier": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_brier_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_brier_0 END",
        "nbs": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_brier_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_brier_0 END) / NULLIF(ec_p1 * ec_p0, 0)"
    },
    "others": {
        "n": "CAST(ec_n AS $bigint$)",
        "class_prior": "ec_p1",
        "n_missing": "CAST(ec_n_missing AS $bigint$)",
        "n_invalid": "CAST(ec_n_invalid AS $bigint$)"
    },
    "means": {
        "*": "*",
        "ec_p0": "ec_n0 / NULLIF(ec_n0 + ec_n1, 0)",
        "ec_p1": "ec_n1 / NULLIF(ec_n1 + ec_n0, 0)",
        "ec_r00": "ec_tn / NULLIF(ec_n0, 0)",
        "ec_r01": "ec_fp / NULLIF(ec_n0, 0)",
        "ec_r10": "ec_fn / NULLIF(ec_n1, 0)",
        "ec_r11": "ec_tp / NULLIF(ec_n1, 0)",
        "ec_q0": "CASE WHEN ec_n0 + ec_n1 > 0 THEN CAST($share_0$ AS $double$) END",
        "ec_q1": "CASE WHEN ec_n0 + ec_n1 > 0 THEN CAST($share_1$ AS $double$) END",
        "ec_log_loss_0": "CASE WHEN ec_infinite_0 > 0 THEN $infinity$ ELSE ec_sum_log_loss_0 / NULLIF(ec_n0, 0) END",
        "ec_log_loss_1": "CASE WHEN ec_infinite_1 > 0 THEN $infinity$ ELSE ec_sum_log_loss_1 / NULLIF(ec_n1, 0) END",
        "ec_brier_0": "ec_sum_brier_0 / NULLIF(ec_n0, 0)",
        "ec_brier_1": "ec_sum_brier_1 / NULLIF(ec_n1, 0)"
    },
    "sizes": {
        "*": "*",
        "ec_n0": "ec_tn + ec_fp",
        "ec_n1": "ec_fn + ec_tp"
    },
    "sums": {
        "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
        "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
        "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
        "ec_sum_tn": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sum_fp": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_fn": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sum_tp": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_log_loss_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_error * ec_error ELSE 0 END), 0)",
        "ec_infinite_0": "COUNT(CASE WHEN ec_class = 0 AND ec_log_loss IS NULL AND ec_error > $0.5$ THEN 1 END)",
        "ec_sum_log_loss_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_error * ec_error ELSE 0 END), 0)",
        "ec_infinite_1": "COUNT(CASE WHEN ec_class = 1 AND ec_log_loss IS NULL AND ec_error > $0.5$ THEN 1 END)",
        "ec_sq_tn": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sq_fp": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sq_fn": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sq_tp": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_log_loss1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_log_loss ELSE 0 END), 0)",
        "ec_sum_log_loss2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_log_loss * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_brier2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_log_loss1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_log_loss ELSE 0 END), 0)",
        "ec_sum_log_loss2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_log_loss * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)"
    },
    "groups": {
        "*": "*",
        "ec_tn": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_tn END",
        "ec_fp": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_fp END",
        "ec_fn": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_fn END",
        "ec_tp": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_tp END",
        "ec_all_0": "CASE WHEN ec_sum_tn + ec_sum_fp < $most_weight$ THEN ec_sum_tn + ec_sum_fp END",
        "ec_squares_0": "ec_sq_tn + ec_sq_fp",
        "ec_all_1": "CASE WHEN ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_fn + ec_sum_tp END",
        "ec_squares_1": "ec_sq_fn + ec_sq_tp"
    },
    "sums_from_least": {
        "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
        "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
        "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
        "ec_sum_tn": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sum_fp": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_fn": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sum_tp": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_log_loss_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_brier_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END ELSE 0 END), 0)",
        "ec_infinite_0": "COUNT(CASE WHEN ec_class = 0 AND ec_log_loss IS NULL AND ec_error > $0.5$ THEN 1 END)",
        "ec_sum_log_loss_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_brier_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END ELSE 0 END), 0)",
        "ec_infinite_1": "COUNT(CASE WHEN ec_class = 1 AND ec_log_loss IS NULL AND ec_error > $0.5$ THEN 1 END)",
        "ec_sq_tn": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sq_fp": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sq_fn": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sq_tp": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_log_loss1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)"
    },
    "groups_from_least": {
        "*": "*",
        "ec_tn": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_tn END",
        "ec_fp": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_fp END",
        "ec_fn": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_fn END",
        "ec_tp": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_tp END",
        "ec_all_0": "CASE WHEN ec_sum_tn + ec_sum_fp < $most_weight$ THEN ec_sum_tn + ec_sum_fp END",
        "ec_squares_0": "ec_sq_tn + ec_sq_fp",
        "ec_all_1": "CASE WHEN ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_fn + ec_sum_tp END",
        "ec_squares_1": "ec_sq_fn + ec_sq_tp"
    },
    "rows_of_posterior": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$"
    },
    "classes_of_posterior": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL THEN NULL WHEN ec_score >= 0 AND ec_score <= 1$not_nan ec_score$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score"
    },
    "usable_of_posterior": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_inner": "CASE WHEN ec_class >= 0 AND ec_score > 0 AND ec_score < 1 THEN ec_score END"
    },
    "logs_of_posterior": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)",
        "ec_loss_1": "-LN(ec_inner)"
    },
    "values_of_posterior": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
        "ec_error": "CASE WHEN ec_class = 1 THEN 1 - ec_used ELSE ec_used END"
    },
    "rows_of_percent": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$"
    },
    "classes_of_percent": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL THEN NULL WHEN ec_score >= 0 AND ec_score <= 100$not_nan ec_score$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score"
    },
    "usable_of_percent": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_inner": "CASE WHEN ec_class >= 0 AND (ec_score / 100) > 0 AND (ec_score / 100) < 1 THEN (ec_score / 100) END"
    },
    "logs_of_percent": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)",
        "ec_loss_1": "-LN(ec_inner)"
    },
    "values_of_percent": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
        "ec_error": "CASE WHEN ec_class = 1 THEN 1 - (ec_used / 100) ELSE (ec_used / 100) END"
    },
    "rows_of_log_odds": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$"
    },
    "classes_of_log_odds": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL THEN NULL WHEN 1 / (1 + ABS($log_odds$)) >= 0 AND 1 / (1 + ABS($log_odds$)) <= 1$not_nan ec_score$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score"
    },
    "usable_of_log_odds": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_finite": "CASE WHEN ec_class >= 0 AND $log_odds$ >= -$largest$ AND $log_odds$ <= $largest$ THEN $log_odds$ END",
        "ec_against": "CASE WHEN ec_class = 1 THEN -$log_odds$ WHEN ec_class = 0 THEN $log_odds$ END"
    },
    "logs_of_log_odds": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_finite": "ec_finite",
        "ec_against": "ec_against",
        "ec_exp": "CASE WHEN ABS(ec_finite) < 745 THEN EXP(-ABS(ec_finite)) ELSE 0 END"
    },
    "values_of_log_odds": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN NOT ec_finite IS NULL THEN CASE WHEN ec_against > 0 THEN ec_against ELSE 0 END + LN(1 + ec_exp) - (1 + ec_exp - 1 - ec_exp) / (1 + ec_exp) END",
        "ec_error": "CASE WHEN ec_against > 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END"
    },
    "rows_of_decision": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$"
    },
    "classes_of_decision": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL THEN NULL WHEN (ec_score = 0 OR ec_score = 1)$not_nan ec_score$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score"
    },
    "usable_of_decision": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END"
    },
    "logs_of_decision": {
        "ec_class": "ec_class",
        "ec_used": "ec_used"
    },
    "values_of_decision": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END"
    },
    "sums_weighted": {
        "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
        "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
        "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
        "ec_sum_tn": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN ec_times ELSE 0 END), 0)",
        "ec_sum_fp": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_times ELSE 0 END), 0)",
        "ec_sum_fn": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_times ELSE 0 END), 0)",
        "ec_sum_tp": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN ec_times ELSE 0 END), 0)",
        "ec_sum_log_loss_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_error * ec_error ELSE 0 END), 0)",
        "ec_infinite_0": "COUNT(CASE WHEN ec_class = 0 AND ec_log_loss IS NULL AND ec_error > $0.5$ AND ec_times > 0 THEN 1 END)",
        "ec_sum_log_loss_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_error * ec_error ELSE 0 END), 0)",
        "ec_infinite_1": "COUNT(CASE WHEN ec_class = 1 AND ec_log_loss IS NULL AND ec_error > $0.5$ AND ec_times > 0 THEN 1 END)",
        "ec_sq_tn": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN ec_times * ec_times ELSE 0 END), 0)",
        "ec_sq_fp": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_times * ec_times ELSE 0 END), 0)",
        "ec_sq_fn": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_times * ec_times ELSE 0 END), 0)",
        "ec_sq_tp": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN ec_times * ec_times ELSE 0 END), 0)",
        "ec_sum_log_loss1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_log_loss2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_log_loss * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_brier2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_log_loss1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_log_loss2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_log_loss * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)"
    },
    "groups_weighted": {
        "*": "*",
        "ec_tn": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_tn END",
        "ec_fp": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_fp END",
        "ec_fn": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_fn END",
        "ec_tp": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_tp END",
        "ec_all_0": "CASE WHEN ec_sum_tn + ec_sum_fp < $most_weight$ THEN ec_sum_tn + ec_sum_fp END",
        "ec_squares_0": "ec_sq_tn + ec_sq_fp",
        "ec_all_1": "CASE WHEN ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_fn + ec_sum_tp END",
        "ec_squares_1": "ec_sq_fn + ec_sq_tp"
    },
    "sums_weighted_from_least": {
        "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
        "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
        "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
        "ec_sum_tn": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_fp": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_fn": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_tp": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_log_loss_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_brier_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END ELSE 0 END), 0)",
        "ec_infinite_0": "COUNT(CASE WHEN ec_class = 0 AND ec_log_loss IS NULL AND ec_error > $0.5$ AND CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END > 0 THEN 1 END)",
        "ec_sum_log_loss_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_brier_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END ELSE 0 END), 0)",
        "ec_infinite_1": "COUNT(CASE WHEN ec_class = 1 AND ec_log_loss IS NULL AND ec_error > $0.5$ AND CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END > 0 THEN 1 END)",
        "ec_sq_tn": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END END ELSE 0 END), 0)",
        "ec_sq_fp": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END END ELSE 0 END), 0)",
        "ec_sq_fn": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END END ELSE 0 END), 0)",
        "ec_sq_tp": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)"
    },
    "groups_weighted_from_least": {
        "*": "*",
        "ec_tn": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_tn END",
        "ec_fp": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_fp END",
        "ec_fn": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_fn END",
        "ec_tp": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_tp END",
        "ec_all_0": "CASE WHEN ec_sum_tn + ec_sum_fp < $most_weight$ THEN ec_sum_tn + ec_sum_fp END",
        "ec_squares_0": "ec_sq_tn + ec_sq_fp",
        "ec_all_1": "CASE WHEN ec_sum_fn + ec_sum_tp < $most_weight$ THEN ec_sum_fn + ec_sum_tp END",
        "ec_squares_1": "ec_sq_fn + ec_sq_tp"
    },
    "rows_of_posterior_weighted": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$",
        "ec_weight": "CAST($weight$ AS $double$)"
    },
    "classes_of_posterior_weighted": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL OR ec_weight IS NULL THEN NULL WHEN ec_score >= 0 AND ec_score <= 1$not_nan ec_score$ AND ec_weight >= 0 AND ec_weight <= $largest$$not_nan ec_weight$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score",
        "ec_weight": "ec_weight"
    },
    "usable_of_posterior_weighted": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_inner": "CASE WHEN ec_class >= 0 AND ec_score > 0 AND ec_score < 1 THEN ec_score END",
        "ec_times": "CASE WHEN ec_class >= 0 THEN ec_weight END"
    },
    "logs_of_posterior_weighted": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)",
        "ec_loss_1": "-LN(ec_inner)",
        "ec_times": "ec_times"
    },
    "values_of_posterior_weighted": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
        "ec_error": "CASE WHEN ec_class = 1 THEN 1 - ec_used ELSE ec_used END",
        "ec_times": "ec_times"
    },
    "rows_of_percent_weighted": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$",
        "ec_weight": "CAST($weight$ AS $double$)"
    },
    "classes_of_percent_weighted": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL OR ec_weight IS NULL THEN NULL WHEN ec_score >= 0 AND ec_score <= 100$not_nan ec_score$ AND ec_weight >= 0 AND ec_weight <= $largest$$not_nan ec_weight$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score",
        "ec_weight": "ec_weight"
    },
    "usable_of_percent_weighted": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_inner": "CASE WHEN ec_class >= 0 AND (ec_score / 100) > 0 AND (ec_score / 100) < 1 THEN (ec_score / 100) END",
        "ec_times": "CASE WHEN ec_class >= 0 THEN ec_weight END"
    },
    "logs_of_percent_weighted": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)",
        "ec_loss_1": "-LN(ec_inner)",
        "ec_times": "ec_times"
    },
    "values_of_percent_weighted": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
        "ec_error": "CASE WHEN ec_class = 1 THEN 1 - (ec_used / 100) ELSE (ec_used / 100) END",
        "ec_times": "ec_times"
    },
    "rows_of_log_odds_weighted": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$",
        "ec_weight": "CAST($weight$ AS $double$)"
    },
    "classes_of_log_odds_weighted": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL OR ec_weight IS NULL THEN NULL WHEN 1 / (1 + ABS($log_odds$)) >= 0 AND 1 / (1 + ABS($log_odds$)) <= 1$not_nan ec_score$ AND ec_weight >= 0 AND ec_weight <= $largest$$not_nan ec_weight$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score",
        "ec_weight": "ec_weight"
    },
    "usable_of_log_odds_weighted": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_finite": "CASE WHEN ec_class >= 0 AND $log_odds$ >= -$largest$ AND $log_odds$ <= $largest$ THEN $log_odds$ END",
        "ec_against": "CASE WHEN ec_class = 1 THEN -$log_odds$ WHEN ec_class = 0 THEN $log_odds$ END",
        "ec_times": "CASE WHEN ec_class >= 0 THEN ec_weight END"
    },
    "logs_of_log_odds_weighted": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_finite": "ec_finite",
        "ec_against": "ec_against",
        "ec_exp": "CASE WHEN ABS(ec_finite) < 745 THEN EXP(-ABS(ec_finite)) ELSE 0 END",
        "ec_times": "ec_times"
    },
    "values_of_log_odds_weighted": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN NOT ec_finite IS NULL THEN CASE WHEN ec_against > 0 THEN ec_against ELSE 0 END + LN(1 + ec_exp) - (1 + ec_exp - 1 - ec_exp) / (1 + ec_exp) END",
        "ec_error": "CASE WHEN ec_against > 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END",
        "ec_times": "ec_times"
    },
    "rows_of_decision_weighted": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$",
        "ec_weight": "CAST($weight$ AS $double$)"
    },
    "classes_of_decision_weighted": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL OR ec_weight IS NULL THEN NULL WHEN (ec_score = 0 OR ec_score = 1)$not_nan ec_score$ AND ec_weight >= 0 AND ec_weight <= $largest$$not_nan ec_weight$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score",
        "ec_weight": "ec_weight"
    },
    "usable_of_decision_weighted": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_times": "CASE WHEN ec_class >= 0 THEN ec_weight END"
    },
    "logs_of_decision_weighted": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_times": "ec_times"
    },
    "values_of_decision_weighted": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_times": "ec_times"
    }
}) }}{% endmacro %}

{% macro report_parts_of_costs() %}{{ return({
    "metrics": {
        "tn": "CASE WHEN ec_n_uncosted = 0 THEN CAST(ec_tn AS $bigint$) END",
        "fp": "CASE WHEN ec_n_uncosted = 0 THEN CAST(ec_fp AS $bigint$) END",
        "fn": "CASE WHEN ec_n_uncosted = 0 THEN CAST(ec_fn AS $bigint$) END",
        "tp": "CASE WHEN ec_n_uncosted = 0 THEN CAST(ec_tp AS $bigint$) END",
        "expected_cost": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_mean_error_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_mean_error_0 END END",
        "bayes_risk": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_mean_error_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_mean_error_0 END END",
        "nec": "CASE WHEN ec_n_uncosted = 0 THEN (CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_mean_error_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_mean_error_0 END) / NULLIF($least$(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_mean_cost_1 END, CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_mean_cost_0 END), 0) END",
        "error_rate": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END END",
        "accuracy": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r00 END END",
        "balanced_error_rate": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN (ec_r10 + ec_r01) / 2 END END",
        "balanced_accuracy": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN (ec_r11 + ec_r00) / 2 END END",
        "precision": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END, 0) END",
        "recall": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r11 END END",
        "specificity": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r00 END END",
        "fpr": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r01 END END",
        "fnr": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r10 END END",
        "decision_share": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END END",
        "f1": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END > 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / ((CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + ($0.5$ * CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END)) + ($0.5$ * CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END)) WHEN (CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) > 0 THEN $0.0$ END END",
        "informedness": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END END END",
        "mcc": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN (ec_p1 > 0) AND (ec_p0 > 0) THEN (SQRT(ec_p1 * ec_p0) * CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END) / NULLIF(SQRT(((ec_p1 * ec_r11) + (ec_p0 * ec_r01)) * ((ec_p1 * ec_r10) + (ec_p0 * ec_r00))), 0) END END",
        "lr_plus": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r01 > 0 THEN ec_r11 / ec_r01 WHEN (ec_r01 = 0) AND (ec_r11 > 0) THEN $infinity$ END END END",
        "lr_minus": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r00 > 0 THEN ec_r10 / ec_r00 WHEN (ec_r00 = 0) AND (ec_r10 > 0) THEN $infinity$ END END END",
        "precision_gain": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN NOT (ec_p1 IS NULL) THEN 1 - CASE WHEN ec_r11 > 0 THEN ec_r01 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r01 > 0) THEN $infinity$ END END END",
        "recall_gain": "CASE WHEN ec_n_uncosted = 0 THEN CASE WHEN ((ec_p0 > 0) AND (ec_n0 > 0)) AND ((ec_p1 > 0) OR (ec_r11 > 0)) THEN 1 - ((ec_p1 / ec_p0) * CASE WHEN ec_r11 > 0 THEN ec_r10 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r10 > 0) THEN $infinity$ END) END END",
        "cross_entropy": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_log_loss_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_log_loss_0 END",
        "nce": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_log_loss_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_log_loss_0 END) / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ WHEN ec_p1 > $0.5$ THEN ec_p1 * ((ec_p0 - (1 - (1 - ec_p0))) - LN(1 - ec_p0)) ELSE (-ec_p1) * LN(ec_p1) END + CASE WHEN ec_p0 = 0 THEN $0.0$ WHEN ec_p0 > $0.5$ THEN ec_p0 * ((ec_p1 - (1 - (1 - ec_p1))) - LN(1 - ec_p1)) ELSE (-ec_p0) * LN(ec_p0) END, 0)",
        "brier": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_brier_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_brier_0 END",
        "nbs": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_brier_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_brier_0 END) / NULLIF(ec_p1 * ec_p0, 0)"
    },
    "means": {
        "*": "*",
        "ec_p0": "ec_n0 / NULLIF(ec_n0 + ec_n1, 0)",
        "ec_p1": "ec_n1 / NULLIF(ec_n1 + ec_n0, 0)",
        "ec_r00": "ec_tn / NULLIF(ec_n0, 0)",
        "ec_r01": "ec_fp / NULLIF(ec_n0, 0)",
        "ec_r10": "ec_fn / NULLIF(ec_n1, 0)",
        "ec_r11": "ec_tp / NULLIF(ec_n1, 0)",
        "ec_mean_cost_0": "CASE WHEN (ec_sum_cost_0 / NULLIF(ec_n0, 0)) < $infinity$ THEN ec_sum_cost_0 / NULLIF(ec_n0, 0) END",
        "ec_mean_cost_1": "CASE WHEN (ec_sum_cost_1 / NULLIF(ec_n1, 0)) < $infinity$ THEN ec_sum_cost_1 / NULLIF(ec_n1, 0) END",
        "ec_mean_error_0": "CASE WHEN (ec_sum_error_0 / NULLIF(ec_n0, 0)) < $infinity$ THEN ec_sum_error_0 / NULLIF(ec_n0, 0) END",
        "ec_mean_error_1": "CASE WHEN (ec_sum_error_1 / NULLIF(ec_n1, 0)) < $infinity$ THEN ec_sum_error_1 / NULLIF(ec_n1, 0) END",
        "ec_q0": "CASE WHEN ec_n0 + ec_n1 > 0 THEN CAST($share_0$ AS $double$) END",
        "ec_q1": "CASE WHEN ec_n0 + ec_n1 > 0 THEN CAST($share_1$ AS $double$) END",
        "ec_log_loss_0": "CASE WHEN ec_infinite_0 > 0 THEN $infinity$ ELSE ec_sum_log_loss_0 / NULLIF(ec_n0, 0) END",
        "ec_log_loss_1": "CASE WHEN ec_infinite_1 > 0 THEN $infinity$ ELSE ec_sum_log_loss_1 / NULLIF(ec_n1, 0) END",
        "ec_brier_0": "ec_sum_brier_0 / NULLIF(ec_n0, 0)",
        "ec_brier_1": "ec_sum_brier_1 / NULLIF(ec_n1, 0)"
    },
    "sums": {
        "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
        "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
        "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
        "ec_sum_tn": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sum_fp": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_fn": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sum_tp": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_n_uncosted": "COUNT(ec_uncosted)",
        "ec_sum_cost_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_cost ELSE 0 END), 0)",
        "ec_sum_error_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_cost ELSE 0 END), 0)",
        "ec_sum_log_loss_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_error * ec_error ELSE 0 END), 0)",
        "ec_infinite_0": "COUNT(CASE WHEN ec_class = 0 AND ec_log_loss IS NULL AND ec_error > $0.5$ THEN 1 END)",
        "ec_sum_cost_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_cost ELSE 0 END), 0)",
        "ec_sum_error_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_cost ELSE 0 END), 0)",
        "ec_sum_log_loss_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_error * ec_error ELSE 0 END), 0)",
        "ec_infinite_1": "COUNT(CASE WHEN ec_class = 1 AND ec_log_loss IS NULL AND ec_error > $0.5$ THEN 1 END)",
        "ec_sq_tn": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sq_fp": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sq_fn": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sq_tp": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_cost1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_cost ELSE 0 END), 0)",
        "ec_sum_cost2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_cost * ec_cost ELSE 0 END), 0)",
        "ec_sum_error1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_cost ELSE 0 END), 0)",
        "ec_sum_error2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_cost * ec_cost ELSE 0 END), 0)",
        "ec_sum_log_loss1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_log_loss ELSE 0 END), 0)",
        "ec_sum_log_loss2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_log_loss * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_brier2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_cost1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_cost ELSE 0 END), 0)",
        "ec_sum_cost2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_cost * ec_cost ELSE 0 END), 0)",
        "ec_sum_error1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_cost ELSE 0 END), 0)",
        "ec_sum_error2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_cost * ec_cost ELSE 0 END), 0)",
        "ec_sum_log_loss1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_log_loss ELSE 0 END), 0)",
        "ec_sum_log_loss2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_log_loss * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)"
    },
    "sums_from_least": {
        "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
        "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
        "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
        "ec_sum_tn": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sum_fp": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_fn": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sum_tp": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_n_uncosted": "COUNT(ec_uncosted)",
        "ec_sum_cost_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_error_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_log_loss_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_brier_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END ELSE 0 END), 0)",
        "ec_infinite_0": "COUNT(CASE WHEN ec_class = 0 AND ec_log_loss IS NULL AND ec_error > $0.5$ THEN 1 END)",
        "ec_sum_cost_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_error_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_log_loss_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_brier_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END ELSE 0 END), 0)",
        "ec_infinite_1": "COUNT(CASE WHEN ec_class = 1 AND ec_log_loss IS NULL AND ec_error > $0.5$ THEN 1 END)",
        "ec_sq_tn": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sq_fp": "CAST(COUNT(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sq_fn": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN 1 END) AS $double$)",
        "ec_sq_tp": "CAST(COUNT(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN 1 END) AS $double$)",
        "ec_sum_cost1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_cost2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_error1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_error2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_cost1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_cost2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_error1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_error2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)"
    },
    "sums_weighted": {
        "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
        "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
        "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
        "ec_sum_tn": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN ec_times ELSE 0 END), 0)",
        "ec_sum_fp": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_times ELSE 0 END), 0)",
        "ec_sum_fn": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_times ELSE 0 END), 0)",
        "ec_sum_tp": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN ec_times ELSE 0 END), 0)",
        "ec_n_uncosted": "COUNT(ec_uncosted)",
        "ec_sum_cost_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_cost ELSE 0 END), 0)",
        "ec_sum_error_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_times * ec_cost ELSE 0 END), 0)",
        "ec_sum_log_loss_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_error * ec_error ELSE 0 END), 0)",
        "ec_infinite_0": "COUNT(CASE WHEN ec_class = 0 AND ec_log_loss IS NULL AND ec_error > $0.5$ AND ec_times > 0 THEN 1 END)",
        "ec_sum_cost_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_cost ELSE 0 END), 0)",
        "ec_sum_error_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_times * ec_cost ELSE 0 END), 0)",
        "ec_sum_log_loss_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_error * ec_error ELSE 0 END), 0)",
        "ec_infinite_1": "COUNT(CASE WHEN ec_class = 1 AND ec_log_loss IS NULL AND ec_error > $0.5$ AND ec_times > 0 THEN 1 END)",
        "ec_sq_tn": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN ec_times * ec_times ELSE 0 END), 0)",
        "ec_sq_fp": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_times * ec_times ELSE 0 END), 0)",
        "ec_sq_fn": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_times * ec_times ELSE 0 END), 0)",
        "ec_sq_tp": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN ec_times * ec_times ELSE 0 END), 0)",
        "ec_sum_cost1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_cost ELSE 0 END), 0)",
        "ec_sum_cost2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_cost * ec_cost ELSE 0 END), 0)",
        "ec_sum_error1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_times * ec_times * ec_cost ELSE 0 END), 0)",
        "ec_sum_error2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN ec_times * ec_times * ec_cost * ec_cost ELSE 0 END), 0)",
        "ec_sum_log_loss1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_log_loss2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_log_loss * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_brier2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN ec_times * ec_times * ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_cost1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_cost ELSE 0 END), 0)",
        "ec_sum_cost2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_cost * ec_cost ELSE 0 END), 0)",
        "ec_sum_error1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_times * ec_times * ec_cost ELSE 0 END), 0)",
        "ec_sum_error2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN ec_times * ec_times * ec_cost * ec_cost ELSE 0 END), 0)",
        "ec_sum_log_loss1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_log_loss2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_log_loss * ec_log_loss ELSE 0 END), 0)",
        "ec_sum_brier1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_error * ec_error ELSE 0 END), 0)",
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)"
    },
    "sums_weighted_from_least": {
        "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
        "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
        "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
        "ec_sum_tn": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_fp": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_fn": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_tp": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END ELSE 0 END), 0)",
        "ec_n_uncosted": "COUNT(ec_uncosted)",
        "ec_sum_cost_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_error_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_log_loss_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_brier_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END ELSE 0 END), 0)",
        "ec_infinite_0": "COUNT(CASE WHEN ec_class = 0 AND ec_log_loss IS NULL AND ec_error > $0.5$ AND CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END > 0 THEN 1 END)",
        "ec_sum_cost_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_error_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_log_loss_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END ELSE 0 END), 0)",
        "ec_sum_brier_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END ELSE 0 END), 0)",
        "ec_infinite_1": "COUNT(CASE WHEN ec_class = 1 AND ec_log_loss IS NULL AND ec_error > $0.5$ AND CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END > 0 THEN 1 END)",
        "ec_sq_tn": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END END ELSE 0 END), 0)",
        "ec_sq_fp": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END END ELSE 0 END), 0)",
        "ec_sq_fn": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END END ELSE 0 END), 0)",
        "ec_sq_tp": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_cost1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_cost2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_error1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_error2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 AND ec_positive = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier1_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier2_0": "COALESCE(SUM(CASE WHEN ec_class = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_cost1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_cost2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_error1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_error2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 AND ec_positive = 0 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_cost) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END * CASE WHEN ABS(ec_cost) >= $least_factor$ THEN ec_cost ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_log_loss2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_log_loss) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END * CASE WHEN ABS(ec_log_loss) >= $least_factor$ THEN ec_log_loss ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier1_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)",
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)"
    },
    "costs_of_posterior": {
        "ec_rows": {
            "ec_cost_fn": "CAST($cost_fn$ AS $double$)",
            "ec_cost_fp": "CAST($cost_fp$ AS $double$)"
        },
        "ec_classes": {
            "ec_cost_fn_right": "CASE WHEN ec_cost_fn >= 0 AND ec_cost_fn <= $1.7976931348623157e+308$$not_nan ec_cost_fn$ THEN ec_cost_fn END",
            "ec_cost_fp_right": "CASE WHEN ec_cost_fp >= 0 AND ec_cost_fp <= $1.7976931348623157e+308$$not_nan ec_cost_fp$ THEN ec_cost_fp END"
        },
        "ec_usable": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right"
        },
        "ec_logs": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_bar": "CASE WHEN ec_cost_fn_right > 0 OR ec_cost_fp_right > 0 THEN CASE WHEN ec_cost_fn_right <= $1e+150$ AND ec_cost_fp_right <= $1e+150$ THEN ec_cost_fp_right / (ec_cost_fp_right + ec_cost_fn_right) ELSE ec_cost_fp_right / 2 / (ec_cost_fp_right / 2 + ec_cost_fn_right / 2) END ELSE 1 END"
        },
        "ec_values": {
            "ec_cost": "CASE WHEN ec_class = 1 THEN ec_cost_fn_right WHEN ec_class = 0 THEN ec_cost_fp_right END",
            "ec_uncosted": "CASE WHEN ec_cost_fn_right IS NULL OR ec_cost_fp_right IS NULL THEN 1 END"
        }
    },
    "costs_of_posterior_from_least": {
        "ec_rows": {
            "ec_cost_fn": "CAST($cost_fn$ AS $double$)",
            "ec_cost_fp": "CAST($cost_fp$ AS $double$)"
        },
        "ec_classes": {
            "ec_cost_fn_right": "CASE WHEN ec_cost_fn >= 0 AND ec_cost_fn <= $1e+50$$not_nan ec_cost_fn$ THEN CASE WHEN ec_cost_fn < $1e-50$ THEN 0 ELSE ec_cost_fn END END",
            "ec_cost_fp_right": "CASE WHEN ec_cost_fp >= 0 AND ec_cost_fp <= $1e+50$$not_nan ec_cost_fp$ THEN CASE WHEN ec_cost_fp < $1e-50$ THEN 0 ELSE ec_cost_fp END END"
        },
        "ec_usable": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right"
        },
        "ec_logs": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_bar": "CASE WHEN ec_cost_fn_right > 0 OR ec_cost_fp_right > 0 THEN CASE WHEN ec_cost_fn_right <= $1e+150$ AND ec_cost_fp_right <= $1e+150$ THEN ec_cost_fp_right / (ec_cost_fp_right + ec_cost_fn_right) ELSE ec_cost_fp_right / 2 / (ec_cost_fp_right / 2 + ec_cost_fn_right / 2) END ELSE 1 END"
        },
        "ec_values": {
            "ec_cost": "CASE WHEN ec_class = 1 THEN ec_cost_fn_right WHEN ec_class = 0 THEN ec_cost_fp_right END",
            "ec_uncosted": "CASE WHEN ec_cost_fn_right IS NULL OR ec_cost_fp_right IS NULL THEN 1 END"
        }
    },
    "costs_of_percent": {
        "ec_rows": {
            "ec_cost_fn": "CAST($cost_fn$ AS $double$)",
            "ec_cost_fp": "CAST($cost_fp$ AS $double$)"
        },
        "ec_classes": {
            "ec_cost_fn_right": "CASE WHEN ec_cost_fn >= 0 AND ec_cost_fn <= $1.7976931348623157e+308$$not_nan ec_cost_fn$ THEN ec_cost_fn END",
            "ec_cost_fp_right": "CASE WHEN ec_cost_fp >= 0 AND ec_cost_fp <= $1.7976931348623157e+308$$not_nan ec_cost_fp$ THEN ec_cost_fp END"
        },
        "ec_usable": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right"
        },
        "ec_logs": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_bar": "CASE WHEN ec_cost_fn_right > 0 OR ec_cost_fp_right > 0 THEN CASE WHEN ec_cost_fn_right <= $1e+150$ AND ec_cost_fp_right <= $1e+150$ THEN ec_cost_fp_right / (ec_cost_fp_right + ec_cost_fn_right) ELSE ec_cost_fp_right / 2 / (ec_cost_fp_right / 2 + ec_cost_fn_right / 2) END ELSE 1 END"
        },
        "ec_values": {
            "ec_cost": "CASE WHEN ec_class = 1 THEN ec_cost_fn_right WHEN ec_class = 0 THEN ec_cost_fp_right END",
            "ec_uncosted": "CASE WHEN ec_cost_fn_right IS NULL OR ec_cost_fp_right IS NULL THEN 1 END"
        }
    },
    "costs_of_percent_from_least": {
        "ec_rows": {
            "ec_cost_fn": "CAST($cost_fn$ AS $double$)",
            "ec_cost_fp": "CAST($cost_fp$ AS $double$)"
        },
        "ec_classes": {
            "ec_cost_fn_right": "CASE WHEN ec_cost_fn >= 0 AND ec_cost_fn <= $1e+50$$not_nan ec_cost_fn$ THEN CASE WHEN ec_cost_fn < $1e-50$ THEN 0 ELSE ec_cost_fn END END",
            "ec_cost_fp_right": "CASE WHEN ec_cost_fp >= 0 AND ec_cost_fp <= $1e+50$$not_nan ec_cost_fp$ THEN CASE WHEN ec_cost_fp < $1e-50$ THEN 0 ELSE ec_cost_fp END END"
        },
        "ec_usable": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right"
        },
        "ec_logs": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_bar": "CASE WHEN ec_cost_fn_right > 0 OR ec_cost_fp_right > 0 THEN CASE WHEN ec_cost_fn_right <= $1e+150$ AND ec_cost_fp_right <= $1e+150$ THEN ec_cost_fp_right / (ec_cost_fp_right + ec_cost_fn_right) ELSE ec_cost_fp_right / 2 / (ec_cost_fp_right / 2 + ec_cost_fn_right / 2) END ELSE 1 END"
        },
        "ec_values": {
            "ec_cost": "CASE WHEN ec_class = 1 THEN ec_cost_fn_right WHEN ec_class = 0 THEN ec_cost_fp_right END",
            "ec_uncosted": "CASE WHEN ec_cost_fn_right IS NULL OR ec_cost_fp_right IS NULL THEN 1 END"
        }
    },
    "costs_of_log_odds": {
        "ec_rows": {
            "ec_cost_fn": "CAST($cost_fn$ AS $double$)",
            "ec_cost_fp": "CAST($cost_fp$ AS $double$)"
        },
        "ec_classes": {
            "ec_cost_fn_right": "CASE WHEN ec_cost_fn >= 0 AND ec_cost_fn <= $1.7976931348623157e+308$$not_nan ec_cost_fn$ THEN ec_cost_fn END",
            "ec_cost_fp_right": "CASE WHEN ec_cost_fp >= 0 AND ec_cost_fp <= $1.7976931348623157e+308$$not_nan ec_cost_fp$ THEN ec_cost_fp END"
        },
        "ec_usable": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_ratio": "CASE WHEN ec_cost_fn_right <= $1e+150$ AND ec_cost_fp_right <= $1e+150$ AND ec_cost_fn_right >= $1e-150$ AND ec_cost_fp_right >= $1e-150$ THEN ec_cost_fp_right / ec_cost_fn_right END"
        },
        "ec_logs": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_bar": "CASE WHEN ec_ratio > 0 THEN LN(CASE WHEN ec_ratio > 0 THEN ec_ratio END) WHEN ec_cost_fn_right > 0 AND ec_cost_fp_right > 0 THEN LN(CASE WHEN ec_cost_fp_right > 0 THEN ec_cost_fp_right END) - LN(CASE WHEN ec_cost_fn_right > 0 THEN ec_cost_fn_right END) WHEN ec_cost_fn_right > 0 THEN -$infinity$ ELSE $infinity$ END"
        },
        "ec_values": {
            "ec_cost": "CASE WHEN ec_class = 1 THEN ec_cost_fn_right WHEN ec_class = 0 THEN ec_cost_fp_right END",
            "ec_uncosted": "CASE WHEN ec_cost_fn_right IS NULL OR ec_cost_fp_right IS NULL THEN 1 END"
        }
    },
    "costs_of_log_odds_from_least": {
        "ec_rows": {
            "ec_cost_fn": "CAST($cost_fn$ AS $double$)",
            "ec_cost_fp": "CAST($cost_fp$ AS $double$)"
        },
        "ec_classes": {
            "ec_cost_fn_right": "CASE WHEN ec_cost_fn >= 0 AND ec_cost_fn <= $1e+50$$not_nan ec_cost_fn$ THEN CASE WHEN ec_cost_fn < $1e-50$ THEN 0 ELSE ec_cost_fn END END",
            "ec_cost_fp_right": "CASE WHEN ec_cost_fp >= 0 AND ec_cost_fp <= $1e+50$$not_nan ec_cost_fp$ THEN CASE WHEN ec_cost_fp < $1e-50$ THEN 0 ELSE ec_cost_fp END END"
        },
        "ec_usable": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_ratio": "CASE WHEN ec_cost_fn_right <= $1e+150$ AND ec_cost_fp_right <= $1e+150$ AND ec_cost_fn_right >= $1e-150$ AND ec_cost_fp_right >= $1e-150$ THEN ec_cost_fp_right / ec_cost_fn_right END"
        },
        "ec_logs": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_bar": "CASE WHEN ec_ratio > 0 THEN LN(CASE WHEN ec_ratio > 0 THEN ec_ratio END) WHEN ec_cost_fn_right > 0 AND ec_cost_fp_right > 0 THEN LN(CASE WHEN ec_cost_fp_right > 0 THEN ec_cost_fp_right END) - LN(CASE WHEN ec_cost_fn_right > 0 THEN ec_cost_fn_right END) WHEN ec_cost_fn_right > 0 THEN -$infinity$ ELSE $infinity$ END"
        },
        "ec_values": {
            "ec_cost": "CASE WHEN ec_class = 1 THEN ec_cost_fn_right WHEN ec_class = 0 THEN ec_cost_fp_right END",
            "ec_uncosted": "CASE WHEN ec_cost_fn_right IS NULL OR ec_cost_fp_right IS NULL THEN 1 END"
        }
    },
    "costs_of_decision": {
        "ec_rows": {
            "ec_cost_fn": "CAST($cost_fn$ AS $double$)",
            "ec_cost_fp": "CAST($cost_fp$ AS $double$)"
        },
        "ec_classes": {
            "ec_cost_fn_right": "CASE WHEN ec_cost_fn >= 0 AND ec_cost_fn <= $1.7976931348623157e+308$$not_nan ec_cost_fn$ THEN ec_cost_fn END",
            "ec_cost_fp_right": "CASE WHEN ec_cost_fp >= 0 AND ec_cost_fp <= $1.7976931348623157e+308$$not_nan ec_cost_fp$ THEN ec_cost_fp END"
        },
        "ec_usable": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_ratio": "CASE WHEN ec_cost_fn_right <= $1e+150$ AND ec_cost_fp_right <= $1e+150$ AND ec_cost_fn_right >= $1e-150$ AND ec_cost_fp_right >= $1e-150$ THEN ec_cost_fp_right / ec_cost_fn_right END"
        },
        "ec_logs": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_bar": "CASE WHEN ec_ratio > 0 THEN LN(CASE WHEN ec_ratio > 0 THEN ec_ratio END) WHEN ec_cost_fn_right > 0 AND ec_cost_fp_right > 0 THEN LN(CASE WHEN ec_cost_fp_right > 0 THEN ec_cost_fp_right END) - LN(CASE WHEN ec_cost_fn_right > 0 THEN ec_cost_fn_right END) WHEN ec_cost_fn_right > 0 THEN -$infinity$ ELSE $infinity$ END"
        },
        "ec_values": {
            "ec_cost": "CASE WHEN ec_class = 1 THEN ec_cost_fn_right WHEN ec_class = 0 THEN ec_cost_fp_right END",
            "ec_uncosted": "CASE WHEN ec_cost_fn_right IS NULL OR ec_cost_fp_right IS NULL THEN 1 END"
        }
    },
    "costs_of_decision_from_least": {
        "ec_rows": {
            "ec_cost_fn": "CAST($cost_fn$ AS $double$)",
            "ec_cost_fp": "CAST($cost_fp$ AS $double$)"
        },
        "ec_classes": {
            "ec_cost_fn_right": "CASE WHEN ec_cost_fn >= 0 AND ec_cost_fn <= $1e+50$$not_nan ec_cost_fn$ THEN CASE WHEN ec_cost_fn < $1e-50$ THEN 0 ELSE ec_cost_fn END END",
            "ec_cost_fp_right": "CASE WHEN ec_cost_fp >= 0 AND ec_cost_fp <= $1e+50$$not_nan ec_cost_fp$ THEN CASE WHEN ec_cost_fp < $1e-50$ THEN 0 ELSE ec_cost_fp END END"
        },
        "ec_usable": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_ratio": "CASE WHEN ec_cost_fn_right <= $1e+150$ AND ec_cost_fp_right <= $1e+150$ AND ec_cost_fn_right >= $1e-150$ AND ec_cost_fp_right >= $1e-150$ THEN ec_cost_fp_right / ec_cost_fn_right END"
        },
        "ec_logs": {
            "ec_cost_fn_right": "ec_cost_fn_right",
            "ec_cost_fp_right": "ec_cost_fp_right",
            "ec_bar": "CASE WHEN ec_ratio > 0 THEN LN(CASE WHEN ec_ratio > 0 THEN ec_ratio END) WHEN ec_cost_fn_right > 0 AND ec_cost_fp_right > 0 THEN LN(CASE WHEN ec_cost_fp_right > 0 THEN ec_cost_fp_right END) - LN(CASE WHEN ec_cost_fn_right > 0 THEN ec_cost_fn_right END) WHEN ec_cost_fn_right > 0 THEN -$infinity$ ELSE $infinity$ END"
        },
        "ec_values": {
            "ec_cost": "CASE WHEN ec_class = 1 THEN ec_cost_fn_right WHEN ec_class = 0 THEN ec_cost_fp_right END",
            "ec_uncosted": "CASE WHEN ec_cost_fn_right IS NULL OR ec_cost_fp_right IS NULL THEN 1 END"
        }
    }
}) }}{% endmacro %}

{% macro limit_parts() %}{{ return({
    "groups": {
        "ec_effective": {
            "ec_rows_0": "CASE WHEN (ec_all_0 > 0) AND ((ec_squares_0 > $1e-280$) AND (ec_squares_0 < $1e+300$)) THEN (ec_all_0 * ec_all_0) / ec_squares_0 END",
            "ec_rows_1": "CASE WHEN (ec_all_1 > 0) AND ((ec_squares_1 > $1e-280$) AND (ec_squares_1 < $1e+300$)) THEN (ec_all_1 * ec_all_1) / ec_squares_1 END",
            "ec_prior": "ec_n1 / NULLIF(ec_n1 + ec_n0, 0)"
        },
        "ec_halves": {
            "ec_some": "CASE WHEN NOT ec_rows_0 IS NULL AND NOT ec_rows_1 IS NULL THEN 1 ELSE 0 END",
            "ec_small": "CASE WHEN ec_n >= $min_rows$ AND ec_rows_0 >= 10 AND ec_rows_1 >= 10 THEN 0 ELSE 1 END",
            "ec_half_0": "CASE WHEN (ec_tn + ec_fp) > 0 THEN (ec_sq_tn + ec_sq_fp) / (ec_tn + ec_fp) ELSE 0 END",
            "ec_half_1": "CASE WHEN (ec_fn + ec_tp) > 0 THEN (ec_sq_fn + ec_sq_tp) / (ec_fn + ec_tp) ELSE 0 END",
            "ec_log_loss_known": "CASE WHEN ec_rows_0 > (1 + $1e-09$) AND ec_rows_1 > (1 + $1e-09$) AND ((ec_sum_log_loss2_0 - (ec_sum_log_loss1_0 * (ec_sum_log_loss1_0 / NULLIF(ec_squares_0, 0)))) > ($1e-11$ * ec_sum_log_loss2_0) OR (ec_sum_log_loss2_1 - (ec_sum_log_loss1_1 * (ec_sum_log_loss1_1 / NULLIF(ec_squares_1, 0)))) > ($1e-11$ * ec_sum_log_loss2_1)) THEN 1 ELSE 0 END",
            "ec_brier_known": "CASE WHEN ec_rows_0 > (1 + $1e-09$) AND ec_rows_1 > (1 + $1e-09$) AND ((ec_sum_brier2_0 - (ec_sum_brier1_0 * (ec_sum_brier1_0 / NULLIF(ec_squares_0, 0)))) > ($1e-11$ * ec_sum_brier2_0) OR (ec_sum_brier2_1 - (ec_sum_brier1_1 * (ec_sum_brier1_1 / NULLIF(ec_squares_1, 0)))) > ($1e-11$ * ec_sum_brier2_1)) THEN 1 ELSE 0 END"
        }
    },
    "families": {
        "expected_cost": "decisions",
        "bayes_risk": "decisions",
        "nec": "decisions",
        "error_rate": "decisions",
        "accuracy": "decisions",
        "balanced_error_rate": "decisions",
        "balanced_accuracy": "decisions",
        "precision": "decisions",
        "recall": "decisions",
        "specificity": "decisions",
        "fpr": "decisions",
        "fnr": "decisions",
        "decision_share": "decisions",
        "f1": "decisions",
        "informedness": "decisions",
        "mcc": "decisions",
        "lr_plus": "decisions",
        "lr_minus": "decisions",
        "precision_gain": "decisions",
        "recall_gain": "decisions",
        "cross_entropy": "log_loss",
        "nce": "log_loss",
        "brier": "brier",
        "nbs": "brier",
        "ec: kink": "constant"
    },
    "scales": {
        "expected_cost": "log",
        "bayes_risk": "log",
        "nec": "log",
        "error_rate": "logit",
        "accuracy": "logit",
        "balanced_error_rate": "logit",
        "balanced_accuracy": "logit",
        "precision": "logit",
        "recall": "logit",
        "specificity": "logit",
        "fpr": "logit",
        "fnr": "logit",
        "decision_share": "logit",
        "f1": "logit",
        "informedness": "atanh",
        "mcc": "atanh",
        "lr_plus": "ratio",
        "lr_minus": "ratio",
        "precision_gain": "identity",
        "recall_gain": "identity",
        "cross_entropy": "log",
        "nce": "log",
        "brier": "log",
        "nbs": "log",
        "ec: kink": "identity"
    },
    "moments": {
        "decisions": {
            "ec_moments": {
                "ec_x00": "ec_tn + ((CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2)",
                "ec_x01": "ec_fp + ((CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2)",
                "ec_x10": "ec_fn + ((CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2)",
                "ec_x11": "ec_tp + ((CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2)",
                "ec_a0": "ec_sq_tn + ((ec_half_0 * ec_half_0) / 2)",
                "ec_b0": "$0.0$",
                "ec_c0": "ec_sq_fp + ((ec_half_0 * ec_half_0) / 2)",
                "ec_a1": "ec_sq_fn + ((ec_half_1 * ec_half_1) / 2)",
                "ec_b1": "$0.0$",
                "ec_c1": "ec_sq_tp + ((ec_half_1 * ec_half_1) / 2)",
                "ec_known": "ec_some"
            }
        },
        "log_loss": {
            "ec_moments": {
                "ec_x00": "ec_n0",
                "ec_x01": "CASE WHEN ec_infinite_0 > 0 THEN $infinity$ ELSE ec_sum_log_loss_0 END",
                "ec_x10": "ec_n1",
                "ec_x11": "CASE WHEN ec_infinite_1 > 0 THEN $infinity$ ELSE ec_sum_log_loss_1 END",
                "ec_a0": "ec_squares_0",
                "ec_b0": "ec_sum_log_loss1_0",
                "ec_c0": "ec_sum_log_loss2_0",
                "ec_a1": "ec_squares_1",
                "ec_b1": "ec_sum_log_loss1_1",
                "ec_c1": "ec_sum_log_loss2_1",
                "ec_known": "ec_log_loss_known"
            }
        },
        "brier": {
            "ec_moments": {
                "ec_x00": "ec_n0",
                "ec_x01": "ec_sum_brier_0",
                "ec_x10": "ec_n1",
                "ec_x11": "ec_sum_brier_1",
                "ec_a0": "ec_squares_0",
                "ec_b0": "ec_sum_brier1_0",
                "ec_c0": "ec_sum_brier2_0",
                "ec_a1": "ec_squares_1",
                "ec_b1": "ec_sum_brier1_1",
                "ec_c1": "ec_sum_brier2_1",
                "ec_known": "ec_brier_known"
            }
        },
        "constant": {
            "ec_moments": {
                "ec_x00": "ec_n0",
                "ec_x01": "$0.0$",
                "ec_x10": "ec_n1",
                "ec_x11": "$0.0$",
                "ec_a0": "ec_squares_0",
                "ec_b0": "$0.0$",
                "ec_c0": "$0.0$",
                "ec_a1": "ec_squares_1",
                "ec_b1": "$0.0$",
                "ec_c1": "$0.0$",
                "ec_known": "ec_some"
            }
        }
    },
    "moments_from_least": {
        "decisions": {
            "ec_moments": {
                "ec_raw_x00": "ec_tn + ((CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2)",
                "ec_raw_x01": "ec_fp + ((CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2)",
                "ec_raw_x10": "ec_fn + ((CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2)",
                "ec_raw_x11": "ec_tp + ((CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2)",
                "ec_raw_a0": "ec_sq_tn + ((ec_half_0 * ec_half_0) / 2)",
                "ec_raw_b0": "$0.0$",
                "ec_raw_c0": "ec_sq_fp + ((ec_half_0 * ec_half_0) / 2)",
                "ec_raw_a1": "ec_sq_fn + ((ec_half_1 * ec_half_1) / 2)",
                "ec_raw_b1": "$0.0$",
                "ec_raw_c1": "ec_sq_tp + ((ec_half_1 * ec_half_1) / 2)",
                "ec_known": "ec_some"
            }
        },
        "log_loss": {
            "ec_moments": {
                "ec_raw_x00": "ec_n0",
                "ec_raw_x01": "CASE WHEN ec_infinite_0 > 0 THEN $infinity$ ELSE ec_sum_log_loss_0 END",
                "ec_raw_x10": "ec_n1",
                "ec_raw_x11": "CASE WHEN ec_infinite_1 > 0 THEN $infinity$ ELSE ec_sum_log_loss_1 END",
                "ec_raw_a0": "ec_squares_0",
                "ec_raw_b0": "ec_sum_log_loss1_0",
                "ec_raw_c0": "ec_sum_log_loss2_0",
                "ec_raw_a1": "ec_squares_1",
                "ec_raw_b1": "ec_sum_log_loss1_1",
                "ec_raw_c1": "ec_sum_log_loss2_1",
                "ec_known": "ec_log_loss_known"
            }
        },
        "brier": {
            "ec_moments": {
                "ec_raw_x00": "ec_n0",
                "ec_raw_x01": "ec_sum_brier_0",
                "ec_raw_x10": "ec_n1",
                "ec_raw_x11": "ec_sum_brier_1",
                "ec_raw_a0": "ec_squares_0",
                "ec_raw_b0": "ec_sum_brier1_0",
                "ec_raw_c0": "ec_sum_brier2_0",
                "ec_raw_a1": "ec_squares_1",
                "ec_raw_b1": "ec_sum_brier1_1",
                "ec_raw_c1": "ec_sum_brier2_1",
                "ec_known": "ec_brier_known"
            }
        },
        "constant": {
            "ec_moments": {
                "ec_raw_x00": "ec_n0",
                "ec_raw_x01": "$0.0$",
                "ec_raw_x10": "ec_n1",
                "ec_raw_x11": "$0.0$",
                "ec_raw_a0": "ec_squares_0",
                "ec_raw_b0": "$0.0$",
                "ec_raw_c0": "$0.0$",
                "ec_raw_a1": "ec_squares_1",
                "ec_raw_b1": "$0.0$",
                "ec_raw_c1": "$0.0$",
                "ec_known": "ec_some"
            }
        }
    },
    "steps": "SELECT -1 AS ec_step, $0.0$ AS ec_change, $0.0$ AS ec_share, 0 AS ec_pseudo UNION ALL SELECT 0, $0.0$, $0.0$, 1 UNION ALL SELECT 1, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 1, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 1, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 1, -$2.0$, $0.08333333333333333$, 1 UNION ALL SELECT 2, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 2, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 2, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 2, -$2.0$, $0.08333333333333333$, 1 UNION ALL SELECT 3, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 3, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 3, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 3, -$2.0$, $0.08333333333333333$, 1 UNION ALL SELECT 4, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 4, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 4, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 4, -$2.0$, $0.08333333333333333$, 1",
    "changed": {
        "ec_changed": {
            "ec_y00": "ec_x00 + CASE WHEN (ec_step = 1) THEN ec_change * (ec_x00 * $0.0001$) ELSE 0 END",
            "ec_y01": "ec_x01 + CASE WHEN (ec_step = 2) THEN ec_change * (ec_x01 * $0.0001$) ELSE 0 END",
            "ec_y10": "ec_x10 + CASE WHEN (ec_step = 3) THEN ec_change * (ec_x10 * $0.0001$) ELSE 0 END",
            "ec_y11": "ec_x11 + CASE WHEN (ec_step = 4) THEN ec_change * (ec_x11 * $0.0001$) ELSE 0 END"
        },
        "ec_class_sizes": {
            "ec_m0": "CASE WHEN ec_u = 1 THEN ec_y00 + ec_y01 ELSE ec_y00 END",
            "ec_m1": "CASE WHEN ec_u = 1 THEN ec_y10 + ec_y11 ELSE ec_y10 END"
        },
        "ec_rates": {
            "ec_r00": "ec_y00 / NULLIF(ec_m0, 0)",
            "ec_r01": "ec_y01 / NULLIF(ec_m0, 0)",
            "ec_r10": "ec_y10 / NULLIF(ec_m1, 0)",
            "ec_r11": "ec_y11 / NULLIF(ec_m1, 0)",
            "ec_p0": "ec_m0 / NULLIF(ec_m0 + ec_m1, 0)",
            "ec_p1": "ec_m1 / NULLIF(ec_m1 + ec_m0, 0)"
        }
    },
    "changed_from_least": {
        "ec_bounded": {
            "ec_x00": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x00) >= $1e-70$ AND ABS(ec_raw_x00) <= $1e+60$ THEN ec_raw_x00 WHEN ABS(ec_raw_x00) < $1e-70$ THEN 0 END",
            "ec_x01": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x01) >= $1e-70$ AND ABS(ec_raw_x01) <= $1e+60$ THEN ec_raw_x01 WHEN ABS(ec_raw_x01) < $1e-70$ THEN 0 END",
            "ec_x10": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x10) >= $1e-70$ AND ABS(ec_raw_x10) <= $1e+60$ THEN ec_raw_x10 WHEN ABS(ec_raw_x10) < $1e-70$ THEN 0 END",
            "ec_x11": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x11) >= $1e-70$ AND ABS(ec_raw_x11) <= $1e+60$ THEN ec_raw_x11 WHEN ABS(ec_raw_x11) < $1e-70$ THEN 0 END",
            "ec_a0": "CASE WHEN ec_step = -1 OR ABS(ec_raw_a0) >= $1e-140$ AND ABS(ec_raw_a0) <= $1e+120$ THEN ec_raw_a0 WHEN ABS(ec_raw_a0) < $1e-140$ THEN 0 END",
            "ec_b0": "CASE WHEN ec_step = -1 OR ABS(ec_raw_b0) >= $1e-140$ AND ABS(ec_raw_b0) <= $1e+120$ THEN ec_raw_b0 WHEN ABS(ec_raw_b0) < $1e-140$ THEN 0 END",
            "ec_c0": "CASE WHEN ec_step = -1 OR ABS(ec_raw_c0) >= $1e-140$ AND ABS(ec_raw_c0) <= $1e+120$ THEN ec_raw_c0 WHEN ABS(ec_raw_c0) < $1e-140$ THEN 0 END",
            "ec_a1": "CASE WHEN ec_step = -1 OR ABS(ec_raw_a1) >= $1e-140$ AND ABS(ec_raw_a1) <= $1e+120$ THEN ec_raw_a1 WHEN ABS(ec_raw_a1) < $1e-140$ THEN 0 END",
            "ec_b1": "CASE WHEN ec_step = -1 OR ABS(ec_raw_b1) >= $1e-140$ AND ABS(ec_raw_b1) <= $1e+120$ THEN ec_raw_b1 WHEN ABS(ec_raw_b1) < $1e-140$ THEN 0 END",
            "ec_c1": "CASE WHEN ec_step = -1 OR ABS(ec_raw_c1) >= $1e-140$ AND ABS(ec_raw_c1) <= $1e+120$ THEN ec_raw_c1 WHEN ABS(ec_raw_c1) < $1e-140$ THEN 0 END"
        },
        "ec_changed": {
            "ec_y00": "ec_x00 + CASE WHEN (ec_step = 1) THEN ec_change * (ec_x00 * $0.0001$) ELSE 0 END",
            "ec_y01": "ec_x01 + CASE WHEN (ec_step = 2) THEN ec_change * (ec_x01 * $0.0001$) ELSE 0 END",
            "ec_y10": "ec_x10 + CASE WHEN (ec_step = 3) THEN ec_change * (ec_x10 * $0.0001$) ELSE 0 END",
            "ec_y11": "ec_x11 + CASE WHEN (ec_step = 4) THEN ec_change * (ec_x11 * $0.0001$) ELSE 0 END"
        },
        "ec_class_sizes": {
            "ec_m0": "CASE WHEN ec_u = 1 THEN ec_y00 + ec_y01 ELSE ec_y00 END",
            "ec_m1": "CASE WHEN ec_u = 1 THEN ec_y10 + ec_y11 ELSE ec_y10 END"
        },
        "ec_rates": {
            "ec_r00": "ec_y00 / NULLIF(ec_m0, 0)",
            "ec_r01": "ec_y01 / NULLIF(ec_m0, 0)",
            "ec_r10": "ec_y10 / NULLIF(ec_m1, 0)",
            "ec_r11": "ec_y11 / NULLIF(ec_m1, 0)",
            "ec_p0": "ec_m0 / NULLIF(ec_m0 + ec_m1, 0)",
            "ec_p1": "ec_m1 / NULLIF(ec_m1 + ec_m0, 0)"
        }
    },
    "rates_stated": {
        "ec_r00": "ec_y00 / NULLIF(ec_m0, 0)",
        "ec_r01": "ec_y01 / NULLIF(ec_m0, 0)",
        "ec_r10": "ec_y10 / NULLIF(ec_m1, 0)",
        "ec_r11": "ec_y11 / NULLIF(ec_m1, 0)",
        "ec_p0": "CASE WHEN ec_at_prior = 0 THEN ec_m0 / NULLIF(ec_m0 + ec_m1, 0) WHEN ec_m0 + ec_m1 > 0 THEN $share_0$ END",
        "ec_p1": "CASE WHEN ec_at_prior = 0 THEN ec_m1 / NULLIF(ec_m1 + ec_m0, 0) WHEN ec_m0 + ec_m1 > 0 THEN $share_1$ END"
    },
    "values": {
        "expected_cost": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * (CAST($cost_fn$ AS $double$) * ec_r10) END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * (CAST($cost_fp$ AS $double$) * ec_r01) END",
        "bayes_risk": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * (CAST($cost_fn$ AS $double$) * ec_r10) END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * (CAST($cost_fp$ AS $double$) * ec_r01) END",
        "nec": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * (CAST($cost_fn$ AS $double$) * ec_r10) END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * (CAST($cost_fp$ AS $double$) * ec_r01) END) / NULLIF($least$(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * CAST($cost_fn$ AS $double$) END, CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * CAST($cost_fp$ AS $double$) END), 0)",
        "error_rate": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "accuracy": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r00 END",
        "balanced_error_rate": "CASE WHEN NOT (ec_p1 IS NULL) THEN (ec_r10 + ec_r01) / 2 END",
        "balanced_accuracy": "CASE WHEN NOT (ec_p1 IS NULL) THEN (ec_r11 + ec_r00) / 2 END",
        "precision": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END, 0)",
        "recall": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r11 END",
        "specificity": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r00 END",
        "fpr": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r01 END",
        "fnr": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r10 END",
        "decision_share": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "f1": "CASE WHEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END > 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / ((CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + ($0.5$ * CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END)) + ($0.5$ * CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END)) WHEN (CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) > 0 THEN $0.0$ END",
        "informedness": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END END",
        "mcc": "CASE WHEN (ec_p1 > 0) AND (ec_p0 > 0) THEN (SQRT(ec_p1 * ec_p0) * CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END) / NULLIF(SQRT(((ec_p1 * ec_r11) + (ec_p0 * ec_r01)) * ((ec_p1 * ec_r10) + (ec_p0 * ec_r00))), 0) END",
        "lr_plus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r01 > 0 THEN ec_r11 / ec_r01 WHEN (ec_r01 = 0) AND (ec_r11 > 0) THEN $infinity$ END END",
        "lr_minus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r00 > 0 THEN ec_r10 / ec_r00 WHEN (ec_r00 = 0) AND (ec_r10 > 0) THEN $infinity$ END END",
        "precision_gain": "CASE WHEN NOT (ec_p1 IS NULL) THEN 1 - CASE WHEN ec_r11 > 0 THEN ec_r01 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r01 > 0) THEN $infinity$ END END",
        "recall_gain": "CASE WHEN ((ec_p0 > 0) AND (ec_m0 > 0)) AND ((ec_p1 > 0) OR (ec_r11 > 0)) THEN 1 - ((ec_p1 / ec_p0) * CASE WHEN ec_r11 > 0 THEN ec_r10 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r10 > 0) THEN $infinity$ END) END",
        "cross_entropy": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "nce": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ WHEN ec_p1 > $0.5$ THEN ec_p1 * ((ec_p0 - (1 - (1 - ec_p0))) - LN(1 - ec_p0)) ELSE (-ec_p1) * LN(ec_p1) END + CASE WHEN ec_p0 = 0 THEN $0.0$ WHEN ec_p0 > $0.5$ THEN ec_p0 * ((ec_p1 - (1 - (1 - ec_p1))) - LN(1 - ec_p1)) ELSE (-ec_p0) * LN(ec_p0) END, 0)",
        "brier": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "nbs": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) / NULLIF(ec_p1 * ec_p0, 0)",
        "ec: kink": "(ec_p1 * $cost_fn$) - (ec_p0 * $cost_fp$)"
    },
    "slopes": {
        "ec_numbers": {
            "ec_number": "CASE WHEN ABS(ec_at_step) <= $1.7976931348623157e+308$ THEN ec_at_step END"
        },
        "ec_slopes": {
            "ec_value": "SUM(CASE WHEN ec_step = -1 THEN ec_at_step END)",
            "ec_centre": "SUM(CASE WHEN ec_step = 0 THEN ec_number END)",
            "ec_numbers_known": "COUNT(CASE WHEN ec_step >= 0 THEN ec_number END)",
            "ec_s00": "SUM(CASE WHEN ec_step = 0 THEN ec_x00 END)",
            "ec_d00": "SUM(CASE WHEN ec_step = 1 THEN ec_share * ec_number END)",
            "ec_s01": "SUM(CASE WHEN ec_step = 0 THEN ec_x01 END)",
            "ec_d01": "SUM(CASE WHEN ec_step = 2 THEN ec_share * ec_number END)",
            "ec_s10": "SUM(CASE WHEN ec_step = 0 THEN ec_x10 END)",
            "ec_d10": "SUM(CASE WHEN ec_step = 3 THEN ec_share * ec_number END)",
            "ec_s11": "SUM(CASE WHEN ec_step = 0 THEN ec_x11 END)",
            "ec_d11": "SUM(CASE WHEN ec_step = 4 THEN ec_share * ec_number END)"
        },
        "ec_gradients": {
            "ec_g00": "CASE WHEN ec_s00 = 0 THEN 0 WHEN ec_numbers_known = 17 THEN ec_d00 / (ec_s00 * $0.0001$) END",
            "ec_g01": "CASE WHEN ec_s01 = 0 THEN 0 WHEN ec_numbers_known = 17 THEN ec_d01 / (ec_s01 * $0.0001$) END",
            "ec_g10": "CASE WHEN ec_s10 = 0 THEN 0 WHEN ec_numbers_known = 17 THEN ec_d10 / (ec_s10 * $0.0001$) END",
            "ec_g11": "CASE WHEN ec_s11 = 0 THEN 0 WHEN ec_numbers_known = 17 THEN ec_d11 / (ec_s11 * $0.0001$) END"
        }
    },
    "slopes_from_least": {
        "ec_numbers": {
            "ec_number": "CASE WHEN ABS(ec_at_step) < $1e-30$ THEN 0 WHEN ABS(ec_at_step) <= $1e+30$ THEN ec_at_step END"
        },
        "ec_slopes": {
            "ec_value": "SUM(CASE WHEN ec_step = -1 THEN ec_at_step END)",
            "ec_centre": "SUM(CASE WHEN ec_step = 0 THEN ec_number END)",
            "ec_numbers_known": "COUNT(CASE WHEN ec_step >= 0 THEN ec_number END)",
            "ec_s00": "SUM(CASE WHEN ec_step = 0 THEN ec_x00 END)",
            "ec_d00": "SUM(CASE WHEN ec_step = 1 THEN ec_share * ec_number END)",
            "ec_s01": "SUM(CASE WHEN ec_step = 0 THEN ec_x01 END)",
            "ec_d01": "SUM(CASE WHEN ec_step = 2 THEN ec_share * ec_number END)",
            "ec_s10": "SUM(CASE WHEN ec_step = 0 THEN ec_x10 END)",
            "ec_d10": "SUM(CASE WHEN ec_step = 3 THEN ec_share * ec_number END)",
            "ec_s11": "SUM(CASE WHEN ec_step = 0 THEN ec_x11 END)",
            "ec_d11": "SUM(CASE WHEN ec_step = 4 THEN ec_share * ec_number END)"
        },
        "ec_gradients": {
            "ec_g00": "CASE WHEN ec_s00 = 0 THEN 0 WHEN ec_numbers_known = 17 THEN ec_d00 / (ec_s00 * $0.0001$) END",
            "ec_g01": "CASE WHEN ec_s01 = 0 THEN 0 WHEN ec_numbers_known = 17 THEN ec_d01 / (ec_s01 * $0.0001$) END",
            "ec_g10": "CASE WHEN ec_s10 = 0 THEN 0 WHEN ec_numbers_known = 17 THEN ec_d10 / (ec_s10 * $0.0001$) END",
            "ec_g11": "CASE WHEN ec_s11 = 0 THEN 0 WHEN ec_numbers_known = 17 THEN ec_d11 / (ec_s11 * $0.0001$) END"
        }
    },
    "spread": {
        "ec_influences": {
            "ec_i_w_0": "ec_s00 + (ec_u * ec_s01)",
            "ec_i_w2_0": "ec_a0 + (ec_u * ((2 * ec_b0) + ec_c0))",
            "ec_i_i_0": "(ec_g00 * ec_s00) + (ec_g01 * ec_s01)",
            "ec_i_s_0": "(((ec_g00 * ec_g00) * ec_a0) + (((2 * ec_g00) * ec_g01) * ec_b0)) + ((ec_g01 * ec_g01) * ec_c0)",
            "ec_i_m_0": "(ec_g00 * (ec_a0 + (ec_u * ec_b0))) + (ec_g01 * (ec_b0 + (ec_u * ec_c0)))",
            "ec_i_w_1": "ec_s10 + (ec_u * ec_s11)",
            "ec_i_w2_1": "ec_a1 + (ec_u * ((2 * ec_b1) + ec_c1))",
            "ec_i_i_1": "(ec_g10 * ec_s10) + (ec_g11 * ec_s11)",
            "ec_i_s_1": "(((ec_g10 * ec_g10) * ec_a1) + (((2 * ec_g10) * ec_g11) * ec_b1)) + ((ec_g11 * ec_g11) * ec_c1)",
            "ec_i_m_1": "(ec_g10 * (ec_a1 + (ec_u * ec_b1))) + (ec_g11 * (ec_b1 + (ec_u * ec_c1)))"
        },
        "ec_means_of_class": {
            "ec_mean_0": "ec_i_i_0 / NULLIF(ec_i_w_0, 0)",
            "ec_k_0": "CASE WHEN ec_i_w_0 > 0 THEN (ec_i_w_0 * ec_i_w_0) / ec_i_w2_0 ELSE 0 END",
            "ec_mean_1": "ec_i_i_1 / NULLIF(ec_i_w_1, 0)",
            "ec_k_1": "CASE WHEN ec_i_w_1 > 0 THEN (ec_i_w_1 * ec_i_w_1) / ec_i_w2_1 ELSE 0 END"
        },
        "ec_parts": {
            "ec_within_0": "CASE WHEN ((ec_i_s_0 - ((2 * ec_mean_0) * ec_i_m_0)) + ((ec_mean_0 * ec_mean_0) * ec_i_w2_0)) > ($1e-13$ * ec_i_s_0) THEN (ec_i_s_0 - ((2 * ec_mean_0) * ec_i_m_0)) + ((ec_mean_0 * ec_mean_0) * ec_i_w2_0) ELSE 0 END * (ec_k_0 / NULLIF(ec_k_0 - 1, 0))",
            "ec_between_0": "(ec_mean_0 * ec_mean_0) * ec_i_w2_0",
            "ec_within_1": "CASE WHEN ((ec_i_s_1 - ((2 * ec_mean_1) * ec_i_m_1)) + ((ec_mean_1 * ec_mean_1) * ec_i_w2_1)) > ($1e-13$ * ec_i_s_1) THEN (ec_i_s_1 - ((2 * ec_mean_1) * ec_i_m_1)) + ((ec_mean_1 * ec_mean_1) * ec_i_w2_1) ELSE 0 END * (ec_k_1 / NULLIF(ec_k_1 - 1, 0))",
            "ec_between_1": "(ec_mean_1 * ec_mean_1) * ec_i_w2_1"
        },
        "ec_variances": {
            "ec_variance": "ec_within_0 + ec_between_0 + ec_within_1 + ec_between_1"
        },
        "ec_parts_of_variance": {
            "ec_part_0": "CASE WHEN ec_within_0 > $1e-60$ * ec_variance THEN ec_within_0 ELSE 0 END",
            "ec_part_1": "CASE WHEN ec_within_1 > $1e-60$ * ec_variance THEN ec_within_1 ELSE 0 END",
            "ec_part_2": "CASE WHEN ec_between_0 + ec_between_1 > $1e-60$ * ec_variance THEN ec_between_0 + ec_between_1 ELSE 0 END"
        },
        "ec_freedom": {
            "ec_df": "CASE WHEN ec_variance = 0 THEN (ec_k_0 + ec_k_1) - 1 ELSE 1 / NULLIF((CASE WHEN ec_part_0 <> 0 THEN (POWER(ec_part_0 / ec_variance, 2)) / (ec_k_0 - 1) ELSE 0 END + CASE WHEN ec_part_1 <> 0 THEN (POWER(ec_part_1 / ec_variance, 2)) / (ec_k_1 - 1) ELSE 0 END) + ((POWER(ec_part_2 / ec_variance, 2)) / ((ec_k_0 + ec_k_1) - 1)), 0) END"
        },
        "ec_degrees": {
            "ec_nu": "CASE WHEN ec_df > 1 AND ec_df < $1e+30$ THEN ec_df WHEN ec_df >= $1e+30$ AND ec_df <= $1.7976931348623157e+308$ THEN $1e+30$ ELSE $1.0$ END"
        }
    },
    "t": {
        "ec_t_start": {
            "ec_w": "$twice_shifted$ / (ec_nu + $shift$) - 1"
        },
        "ec_powers_8": {
            "ec_z_8": "((((((($power_0$) * ec_w + $power_1$) * ec_w + $power_2$) * ec_w + $power_3$) * ec_w + $power_4$) * ec_w + $power_5$) * ec_w + $power_6$) * ec_w + $power_7$"
        },
        "ec_powers_16": {
            "ec_z_16": "((((((((ec_z_8) * ec_w + $power_8$) * ec_w + $power_9$) * ec_w + $power_10$) * ec_w + $power_11$) * ec_w + $power_12$) * ec_w + $power_13$) * ec_w + $power_14$) * ec_w + $power_15$"
        },
        "ec_powers": {
            "ec_z": "$normal$ * ((((((((ec_z_16) * ec_w + $power_16$) * ec_w + $power_17$) * ec_w + $power_18$) * ec_w + $power_19$) * ec_w + $power_20$) * ec_w + $power_21$) * ec_w + $power_22$)"
        },
        "ec_t_end": {
            "ec_t": "EXP(((ec_z * ec_z) / ec_nu) / 2) * SQRT(ec_nu * (2 / (1 + (1 / TANH(((ec_z * ec_z) / ec_nu) / 2)))))"
        }
    },
    "ends": {
        "log": {
            "ec_widths": {
                "ec_at": "CASE WHEN ec_centre > 0 THEN LN(CASE WHEN (ec_centre) > 0 THEN ec_centre END) END",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1 / NULLIF(ec_centre, 0))"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN ec_u = 1 THEN CASE WHEN ec_half < 100 THEN (((1 * 1) * ec_half) * 1) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 1 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (-ec_skew)) > (ec_t * ec_t) THEN (((-ec_skew) / 4) + (((-ec_skew) * (-ec_skew)) / 8)) / 1 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "CASE WHEN (ec_low_z) < -$708.0$ THEN $0.0$ WHEN (ec_low_z) > $709.78$ THEN $infinity$ ELSE EXP(ec_low_z) END",
                "ec_high_end": "CASE WHEN (ec_high_z) < -$708.0$ THEN $0.0$ WHEN (ec_high_z) > $709.78$ THEN $infinity$ ELSE EXP(ec_high_z) END"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        },
        "logit": {
            "ec_widths": {
                "ec_at": "CASE WHEN (ec_centre > 0) AND (ec_centre < 1) THEN LN(CASE WHEN (ec_centre) > 0 THEN ec_centre END) + ((ec_centre - (1 - (1 - ec_centre))) - LN(CASE WHEN (1 - ec_centre) > 0 THEN 1 - ec_centre END)) END",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1 / NULLIF(ec_centre * (1 - ec_centre), 0))"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN ec_u = 1 THEN CASE WHEN ec_half < 100 THEN (((1 - (2 * ec_centre) * 1) * ec_half) * 1) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 1 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (-ec_skew)) > (ec_t * ec_t) THEN (((-ec_skew) / 4) + (((-ec_skew) * (-ec_skew)) / 8)) / 1 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "1 / (1 + CASE WHEN (-ec_low_z) < -$708.0$ THEN $0.0$ WHEN (-ec_low_z) > $709.78$ THEN $infinity$ ELSE EXP(-ec_low_z) END)",
                "ec_high_end": "1 / (1 + CASE WHEN (-ec_high_z) < -$708.0$ THEN $0.0$ WHEN (-ec_high_z) > $709.78$ THEN $infinity$ ELSE EXP(-ec_high_z) END)"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        },
        "atanh": {
            "ec_widths": {
                "ec_at": "CASE WHEN ABS(ec_centre) < 1 THEN (LN(CASE WHEN (1 + ec_centre) > 0 THEN 1 + ec_centre END) - LN(CASE WHEN (1 - ec_centre) > 0 THEN 1 - ec_centre END)) / 2 END",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1 / NULLIF(1 - (ec_centre * ec_centre), 0))"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN ec_u = 1 THEN CASE WHEN ec_half < 100 THEN (((-ec_centre * 2) * ec_half) * 2) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 2 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (-ec_skew)) > (ec_t * ec_t) THEN (((-ec_skew) / 4) + (((-ec_skew) * (-ec_skew)) / 8)) / 2 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "TANH(ec_low_z)",
                "ec_high_end": "TANH(ec_high_z)"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        },
        "ratio": {
            "ec_widths": {
                "ec_at": "CASE WHEN ec_centre > 0 THEN LN(CASE WHEN (ec_centre) > 0 THEN ec_centre END) END",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1 / NULLIF(ec_centre, 0))"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN ec_u = 1 THEN CASE WHEN ec_half < 100 THEN (((1 * 1) * ec_half) * 1) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 1 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (ec_skew)) > (ec_t * ec_t) THEN (((ec_skew) / 4) + (((ec_skew) * (ec_skew)) / 8)) / 1 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "CASE WHEN (ec_low_z) < -$708.0$ THEN $0.0$ WHEN (ec_low_z) > $709.78$ THEN $infinity$ ELSE EXP(ec_low_z) END",
                "ec_high_end": "CASE WHEN (ec_high_z) < -$708.0$ THEN $0.0$ WHEN (ec_high_z) > $709.78$ THEN $infinity$ ELSE EXP(ec_high_z) END"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        },
        "identity": {
            "ec_widths": {
                "ec_at": "ec_centre",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1)"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN ec_u = 1 THEN CASE WHEN ec_half < 100 THEN (((0 * 1) * ec_half) * 1) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 1 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (-ec_skew)) > (ec_t * ec_t) THEN (((-ec_skew) / 4) + (((-ec_skew) * (-ec_skew)) / 8)) / 1 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "ec_low_z",
                "ec_high_end": "ec_high_z"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        }
    },
    "normal_quantile": {
        "middle": [
            [
                2509.0809287301227,
                33430.57558358813,
                67265.7709270087,
                45921.95393154987,
                13731.69376550946,
                1971.5909503065513,
                133.14166789178438,
                3.3871328727963665
            ],
            [
                5226.495278852546,
                28729.085735721943,
                39307.89580009271,
                21213.794301586597,
                5394.196021424751,
                687.1870074920579,
                42.31333070160091,
                1.0
            ]
        ],
        "beyond": [
            [
                0.0007745450142783414,
                0.022723844989269184,
                0.2417807251774506,
                1.2704582524523684,
                3.6478483247632045,
                5.769497221460691,
                4.630337846156546,
                1.4234371107496835
            ],
            [
                1.0507500716444169e-09,
                0.0005475938084995345,
                0.015198666563616457,
                0.14810397642748008,
                0.6897673349851,
                1.6763848301838038,
                2.053191626637759,
                1.0
            ]
        ],
        "far_out": [
            [
                2.0103343992922881e-07,
                2.7115555687434876e-05,
                0.0012426609473880784,
                0.026532189526576124,
                0.29656057182850487,
                1.7848265399172913,
                5.463784911164114,
                6.657904643501103
            ],
            [
                2.0442631033899397e-15,
                1.421511758316446e-07,
                1.8463183175100548e-05,
                0.0007868691311456133,
                0.014875361290850615,
                0.1369298809227358,
                0.599832206555888,
                1.0
            ]
        ]
    },
    "normal_rule": [
        [
            0.00793030630248387,
            0.02034574694341357
        ],
        [
            0.04173192585244362,
            0.04724228039019216
        ],
        [
            0.10233022507301565,
            0.07389476271858073
        ],
        [
            0.18937431353793743,
            0.10010632137374995
        ],
        [
            0.30234236274595566,
            0.12571653141010544
        ],
        [
            0.44055536864006595,
            0.15057087877146552
        ],
        [
            0.6031822355448324,
            0.17451975588512486
        ],
        [
            0.7892449612500974,
            0.19741908683552944
        ],
        [
            0.9976245685806626,
            0.2191311343578237
        ],
        [
            1.227067851645328,
            0.23952531142771513
        ],
        [
            1.476194919236192,
            0.2584789609472608
        ],
        [
            1.743507496494089,
            0.27587809121817974
        ],
        [
            2.0273979370719233,
            0.29161806055470346
        ],
        [
            2.326158892412196,
            0.30560420616855155
        ],
        [
            2.6379935803277776,
            0.3177524132607895
        ],
        [
            2.961026591284087,
            0.327989620781117
        ],
        [
            3.2933151674673584,
            0.33625426076085574
        ],
        [
            3.63286088684383,
            0.34249662855281693
        ],
        [
            3.977621681961352,
            0.34667918173911433
        ],
        [
            4.325524121222771,
            0.3487767659029103
        ],
        [
            4.674475878777229,
            0.3487767659029103
        ],
        [
            5.0223783180386485,
            0.34667918173911433
        ],
        [
            5.36713911315617,
            0.34249662855281693
        ],
        [
            5.706684832532641,
            0.33625426076085574
        ],
        [
            6.038973408715914,
            0.327989620781117
        ],
        [
            6.3620064196722215,
            0.3177524132607895
        ],
        [
            6.673841107587804,
            0.30560420616855155
        ],
        [
            6.972602062928077,
            0.29161806055470346
        ],
        [
            7.256492503505911,
            0.27587809121817974
        ],
        [
            7.523805080763808,
            0.2584789609472608
        ],
        [
            7.772932148354672,
            0.23952531142771513
        ],
        [
            8.002375431419338,
            0.2191311343578237
        ],
        [
            8.210755038749902,
            0.19741908683552944
        ],
        [
            8.396817764455168,
            0.17451975588512486
        ],
        [
            8.559444631359934,
            0.15057087877146552
        ],
        [
            8.697657637254045,
            0.12571653141010544
        ],
        [
            8.810625686462062,
            0.10010632137374995
        ],
        [
            8.897669774926985,
            0.07389476271858073
        ],
        [
            8.958268074147558,
            0.04724228039019216
        ],
        [
            8.992069693697516,
            0.02034574694341357
        ]
    ],
    "t_nodes": [
        -0.9976687691905392,
        -0.9790840876823228,
        -0.9422609221188204,
        -0.8878852184023752,
        -0.816969893010442,
        -0.730835964278124,
        -0.6310879443260528,
        -0.5195839500354336,
        -0.39840108984624145,
        -0.2697967711570243,
        -0.1361666490962466,
        0.0,
        0.1361666490962466,
        0.2697967711570243,
        0.39840108984624145,
        0.5195839500354336,
        0.6310879443260528,
        0.730835964278124,
        0.816969893010442,
        0.8878852184023752,
        0.9422609221188204,
        0.9790840876823228,
        0.9976687691905392
    ]
}) }}{% endmacro %}

{% macro limit_parts_of_costs() %}{{ return({
    "groups": {
        "ec_effective": {
            "ec_rows_0": "CASE WHEN (ec_all_0 > 0) AND ((ec_squares_0 > $1e-280$) AND (ec_squares_0 < $1e+300$)) THEN (ec_all_0 * ec_all_0) / ec_squares_0 END",
            "ec_rows_1": "CASE WHEN (ec_all_1 > 0) AND ((ec_squares_1 > $1e-280$) AND (ec_squares_1 < $1e+300$)) THEN (ec_all_1 * ec_all_1) / ec_squares_1 END",
            "ec_mean_cost_0": "CASE WHEN ec_n0 > 0 THEN ec_sum_cost_0 / ec_n0 ELSE 0 END",
            "ec_mean_cost_1": "CASE WHEN ec_n1 > 0 THEN ec_sum_cost_1 / ec_n1 ELSE 0 END",
            "ec_prior": "ec_n1 / NULLIF(ec_n1 + ec_n0, 0)"
        },
        "ec_halves": {
            "ec_some": "CASE WHEN NOT ec_rows_0 IS NULL AND NOT ec_rows_1 IS NULL THEN 1 ELSE 0 END",
            "ec_small": "CASE WHEN ec_n >= $min_rows$ AND ec_rows_0 >= 10 AND ec_rows_1 >= 10 THEN 0 ELSE 1 END",
            "ec_half_0": "CASE WHEN (ec_tn + ec_fp) > 0 THEN (ec_sq_tn + ec_sq_fp) / (ec_tn + ec_fp) ELSE 0 END",
            "ec_half_1": "CASE WHEN (ec_fn + ec_tp) > 0 THEN (ec_sq_fn + ec_sq_tp) / (ec_fn + ec_tp) ELSE 0 END",
            "ec_log_loss_known": "CASE WHEN ec_rows_0 > (1 + $1e-09$) AND ec_rows_1 > (1 + $1e-09$) AND ((ec_sum_log_loss2_0 - (ec_sum_log_loss1_0 * (ec_sum_log_loss1_0 / NULLIF(ec_squares_0, 0)))) > ($1e-11$ * ec_sum_log_loss2_0) OR (ec_sum_log_loss2_1 - (ec_sum_log_loss1_1 * (ec_sum_log_loss1_1 / NULLIF(ec_squares_1, 0)))) > ($1e-11$ * ec_sum_log_loss2_1)) THEN 1 ELSE 0 END",
            "ec_brier_known": "CASE WHEN ec_rows_0 > (1 + $1e-09$) AND ec_rows_1 > (1 + $1e-09$) AND ((ec_sum_brier2_0 - (ec_sum_brier1_0 * (ec_sum_brier1_0 / NULLIF(ec_squares_0, 0)))) > ($1e-11$ * ec_sum_brier2_0) OR (ec_sum_brier2_1 - (ec_sum_brier1_1 * (ec_sum_brier1_1 / NULLIF(ec_squares_1, 0)))) > ($1e-11$ * ec_sum_brier2_1)) THEN 1 ELSE 0 END"
        }
    },
    "families": {
        "expected_cost": "costs",
        "bayes_risk": "costs",
        "nec": "costs",
        "error_rate": "decisions",
        "accuracy": "decisions",
        "balanced_error_rate": "decisions",
        "balanced_accuracy": "decisions",
        "precision": "decisions",
        "recall": "decisions",
        "specificity": "decisions",
        "fpr": "decisions",
        "fnr": "decisions",
        "decision_share": "decisions",
        "f1": "decisions",
        "informedness": "decisions",
        "mcc": "decisions",
        "lr_plus": "decisions",
        "lr_minus": "decisions",
        "precision_gain": "decisions",
        "recall_gain": "decisions",
        "cross_entropy": "log_loss",
        "nce": "log_loss",
        "brier": "brier",
        "nbs": "brier",
        "ec: kink": "constant"
    },
    "moments": {
        "decisions": {
            "ec_moments": {
                "ec_x00": "CASE WHEN ec_n_uncosted = 0 THEN ec_tn + ((CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2) END",
                "ec_x01": "CASE WHEN ec_n_uncosted = 0 THEN ec_fp + ((CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2) END",
                "ec_x10": "CASE WHEN ec_n_uncosted = 0 THEN ec_fn + ((CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2) END",
                "ec_x11": "CASE WHEN ec_n_uncosted = 0 THEN ec_tp + ((CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2) END",
                "ec_x02": "$0.0$",
                "ec_x12": "$0.0$",
                "ec_a0": "ec_sq_tn + ((ec_half_0 * ec_half_0) / 2)",
                "ec_b0": "$0.0$",
                "ec_c0": "ec_sq_fp + ((ec_half_0 * ec_half_0) / 2)",
                "ec_d0": "$0.0$",
                "ec_e0": "$0.0$",
                "ec_a1": "ec_sq_fn + ((ec_half_1 * ec_half_1) / 2)",
                "ec_b1": "$0.0$",
                "ec_c1": "ec_sq_tp + ((ec_half_1 * ec_half_1) / 2)",
                "ec_d1": "$0.0$",
                "ec_e1": "$0.0$",
                "ec_known": "ec_some"
            }
        },
        "costs": {
            "ec_moments": {
                "ec_x00": "CASE WHEN ec_n_uncosted = 0 THEN ec_n0 + (CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) END",
                "ec_x01": "ec_sum_cost_0 + ec_mean_cost_0 * (CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END)",
                "ec_x10": "CASE WHEN ec_n_uncosted = 0 THEN ec_n1 + (CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) END",
                "ec_x11": "ec_sum_cost_1 + ec_mean_cost_1 * (CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END)",
                "ec_x02": "ec_sum_error_0 + ec_mean_cost_0 * (CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2",
                "ec_x12": "ec_sum_error_1 + ec_mean_cost_1 * (CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2",
                "ec_a0": "ec_squares_0 + ec_half_0 * ec_half_0",
                "ec_b0": "ec_sum_cost1_0 + ec_mean_cost_0 * ec_half_0 * ec_half_0",
                "ec_c0": "ec_sum_cost2_0 + ec_mean_cost_0 * ec_mean_cost_0 * ec_half_0 * ec_half_0",
                "ec_d0": "ec_sum_error1_0 + ec_mean_cost_0 * ec_half_0 * ec_half_0 / 2",
                "ec_e0": "ec_sum_error2_0 + ec_mean_cost_0 * ec_mean_cost_0 * ec_half_0 * ec_half_0 / 2",
                "ec_a1": "ec_squares_1 + ec_half_1 * ec_half_1",
                "ec_b1": "ec_sum_cost1_1 + ec_mean_cost_1 * ec_half_1 * ec_half_1",
                "ec_c1": "ec_sum_cost2_1 + ec_mean_cost_1 * ec_mean_cost_1 * ec_half_1 * ec_half_1",
                "ec_d1": "ec_sum_error1_1 + ec_mean_cost_1 * ec_half_1 * ec_half_1 / 2",
                "ec_e1": "ec_sum_error2_1 + ec_mean_cost_1 * ec_mean_cost_1 * ec_half_1 * ec_half_1 / 2",
                "ec_known": "ec_some"
            }
        },
        "log_loss": {
            "ec_moments": {
                "ec_x00": "ec_n0",
                "ec_x01": "CASE WHEN ec_infinite_0 > 0 THEN $infinity$ ELSE ec_sum_log_loss_0 END",
                "ec_x10": "ec_n1",
                "ec_x11": "CASE WHEN ec_infinite_1 > 0 THEN $infinity$ ELSE ec_sum_log_loss_1 END",
                "ec_x02": "$0.0$",
                "ec_x12": "$0.0$",
                "ec_a0": "ec_squares_0",
                "ec_b0": "ec_sum_log_loss1_0",
                "ec_c0": "ec_sum_log_loss2_0",
                "ec_d0": "$0.0$",
                "ec_e0": "$0.0$",
                "ec_a1": "ec_squares_1",
                "ec_b1": "ec_sum_log_loss1_1",
                "ec_c1": "ec_sum_log_loss2_1",
                "ec_d1": "$0.0$",
                "ec_e1": "$0.0$",
                "ec_known": "ec_log_loss_known"
            }
        },
        "brier": {
            "ec_moments": {
                "ec_x00": "ec_n0",
                "ec_x01": "ec_sum_brier_0",
                "ec_x10": "ec_n1",
                "ec_x11": "ec_sum_brier_1",
                "ec_x02": "$0.0$",
                "ec_x12": "$0.0$",
                "ec_a0": "ec_squares_0",
                "ec_b0": "ec_sum_brier1_0",
                "ec_c0": "ec_sum_brier2_0",
                "ec_d0": "$0.0$",
                "ec_e0": "$0.0$",
                "ec_a1": "ec_squares_1",
                "ec_b1": "ec_sum_brier1_1",
                "ec_c1": "ec_sum_brier2_1",
                "ec_d1": "$0.0$",
                "ec_e1": "$0.0$",
                "ec_known": "ec_brier_known"
            }
        },
        "constant": {
            "ec_moments": {
                "ec_x00": "ec_n0",
                "ec_x01": "ec_sum_cost_0",
                "ec_x10": "ec_n1",
                "ec_x11": "ec_sum_cost_1",
                "ec_x02": "$0.0$",
                "ec_x12": "$0.0$",
                "ec_a0": "ec_squares_0",
                "ec_b0": "ec_sum_cost1_0",
                "ec_c0": "ec_sum_cost2_0",
                "ec_d0": "$0.0$",
                "ec_e0": "$0.0$",
                "ec_a1": "ec_squares_1",
                "ec_b1": "ec_sum_cost1_1",
                "ec_c1": "ec_sum_cost2_1",
                "ec_d1": "$0.0$",
                "ec_e1": "$0.0$",
                "ec_known": "ec_some"
            }
        }
    },
    "moments_from_least": {
        "decisions": {
            "ec_moments": {
                "ec_raw_x00": "CASE WHEN ec_n_uncosted = 0 THEN ec_tn + ((CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2) END",
                "ec_raw_x01": "CASE WHEN ec_n_uncosted = 0 THEN ec_fp + ((CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2) END",
                "ec_raw_x10": "CASE WHEN ec_n_uncosted = 0 THEN ec_fn + ((CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2) END",
                "ec_raw_x11": "CASE WHEN ec_n_uncosted = 0 THEN ec_tp + ((CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2) END",
                "ec_raw_x02": "$0.0$",
                "ec_raw_x12": "$0.0$",
                "ec_raw_a0": "ec_sq_tn + ((ec_half_0 * ec_half_0) / 2)",
                "ec_raw_b0": "$0.0$",
                "ec_raw_c0": "ec_sq_fp + ((ec_half_0 * ec_half_0) / 2)",
                "ec_raw_d0": "$0.0$",
                "ec_raw_e0": "$0.0$",
                "ec_raw_a1": "ec_sq_fn + ((ec_half_1 * ec_half_1) / 2)",
                "ec_raw_b1": "$0.0$",
                "ec_raw_c1": "ec_sq_tp + ((ec_half_1 * ec_half_1) / 2)",
                "ec_raw_d1": "$0.0$",
                "ec_raw_e1": "$0.0$",
                "ec_known": "ec_some"
            }
        },
        "costs": {
            "ec_moments": {
                "ec_raw_x00": "CASE WHEN ec_n_uncosted = 0 THEN ec_n0 + (CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) END",
                "ec_raw_x01": "ec_sum_cost_0 + ec_mean_cost_0 * (CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END)",
                "ec_raw_x10": "CASE WHEN ec_n_uncosted = 0 THEN ec_n1 + (CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) END",
                "ec_raw_x11": "ec_sum_cost_1 + ec_mean_cost_1 * (CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END)",
                "ec_raw_x02": "ec_sum_error_0 + ec_mean_cost_0 * (CASE WHEN ec_pseudo = 1 THEN ec_half_0 ELSE 0 END) / 2",
                "ec_raw_x12": "ec_sum_error_1 + ec_mean_cost_1 * (CASE WHEN ec_pseudo = 1 THEN ec_half_1 ELSE 0 END) / 2",
                "ec_raw_a0": "ec_squares_0 + ec_half_0 * ec_half_0",
                "ec_raw_b0": "ec_sum_cost1_0 + ec_mean_cost_0 * ec_half_0 * ec_half_0",
                "ec_raw_c0": "ec_sum_cost2_0 + ec_mean_cost_0 * ec_mean_cost_0 * ec_half_0 * ec_half_0",
                "ec_raw_d0": "ec_sum_error1_0 + ec_mean_cost_0 * ec_half_0 * ec_half_0 / 2",
                "ec_raw_e0": "ec_sum_error2_0 + ec_mean_cost_0 * ec_mean_cost_0 * ec_half_0 * ec_half_0 / 2",
                "ec_raw_a1": "ec_squares_1 + ec_half_1 * ec_half_1",
                "ec_raw_b1": "ec_sum_cost1_1 + ec_mean_cost_1 * ec_half_1 * ec_half_1",
                "ec_raw_c1": "ec_sum_cost2_1 + ec_mean_cost_1 * ec_mean_cost_1 * ec_half_1 * ec_half_1",
                "ec_raw_d1": "ec_sum_error1_1 + ec_mean_cost_1 * ec_half_1 * ec_half_1 / 2",
                "ec_raw_e1": "ec_sum_error2_1 + ec_mean_cost_1 * ec_mean_cost_1 * ec_half_1 * ec_half_1 / 2",
                "ec_known": "ec_some"
            }
        },
        "log_loss": {
            "ec_moments": {
                "ec_raw_x00": "ec_n0",
                "ec_raw_x01": "CASE WHEN ec_infinite_0 > 0 THEN $infinity$ ELSE ec_sum_log_loss_0 END",
                "ec_raw_x10": "ec_n1",
                "ec_raw_x11": "CASE WHEN ec_infinite_1 > 0 THEN $infinity$ ELSE ec_sum_log_loss_1 END",
                "ec_raw_x02": "$0.0$",
                "ec_raw_x12": "$0.0$",
                "ec_raw_a0": "ec_squares_0",
                "ec_raw_b0": "ec_sum_log_loss1_0",
                "ec_raw_c0": "ec_sum_log_loss2_0",
                "ec_raw_d0": "$0.0$",
                "ec_raw_e0": "$0.0$",
                "ec_raw_a1": "ec_squares_1",
                "ec_raw_b1": "ec_sum_log_loss1_1",
                "ec_raw_c1": "ec_sum_log_loss2_1",
                "ec_raw_d1": "$0.0$",
                "ec_raw_e1": "$0.0$",
                "ec_known": "ec_log_loss_known"
            }
        },
        "brier": {
            "ec_moments": {
                "ec_raw_x00": "ec_n0",
                "ec_raw_x01": "ec_sum_brier_0",
                "ec_raw_x10": "ec_n1",
                "ec_raw_x11": "ec_sum_brier_1",
                "ec_raw_x02": "$0.0$",
                "ec_raw_x12": "$0.0$",
                "ec_raw_a0": "ec_squares_0",
                "ec_raw_b0": "ec_sum_brier1_0",
                "ec_raw_c0": "ec_sum_brier2_0",
                "ec_raw_d0": "$0.0$",
                "ec_raw_e0": "$0.0$",
                "ec_raw_a1": "ec_squares_1",
                "ec_raw_b1": "ec_sum_brier1_1",
                "ec_raw_c1": "ec_sum_brier2_1",
                "ec_raw_d1": "$0.0$",
                "ec_raw_e1": "$0.0$",
                "ec_known": "ec_brier_known"
            }
        },
        "constant": {
            "ec_moments": {
                "ec_raw_x00": "ec_n0",
                "ec_raw_x01": "ec_sum_cost_0",
                "ec_raw_x10": "ec_n1",
                "ec_raw_x11": "ec_sum_cost_1",
                "ec_raw_x02": "$0.0$",
                "ec_raw_x12": "$0.0$",
                "ec_raw_a0": "ec_squares_0",
                "ec_raw_b0": "ec_sum_cost1_0",
                "ec_raw_c0": "ec_sum_cost2_0",
                "ec_raw_d0": "$0.0$",
                "ec_raw_e0": "$0.0$",
                "ec_raw_a1": "ec_squares_1",
                "ec_raw_b1": "ec_sum_cost1_1",
                "ec_raw_c1": "ec_sum_cost2_1",
                "ec_raw_d1": "$0.0$",
                "ec_raw_e1": "$0.0$",
                "ec_known": "ec_some"
            }
        }
    },
    "steps": "SELECT -1 AS ec_step, $0.0$ AS ec_change, $0.0$ AS ec_share, 0 AS ec_pseudo UNION ALL SELECT 0, $0.0$, $0.0$, 1 UNION ALL SELECT 1, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 1, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 1, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 1, -$2.0$, $0.08333333333333333$, 1 UNION ALL SELECT 2, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 2, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 2, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 2, -$2.0$, $0.08333333333333333$, 1 UNION ALL SELECT 3, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 3, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 3, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 3, -$2.0$, $0.08333333333333333$, 1 UNION ALL SELECT 4, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 4, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 4, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 4, -$2.0$, $0.08333333333333333$, 1 UNION ALL SELECT 5, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 5, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 5, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 5, -$2.0$, $0.08333333333333333$, 1 UNION ALL SELECT 6, $1.0$, $0.6666666666666666$, 1 UNION ALL SELECT 6, -$1.0$, -$0.6666666666666666$, 1 UNION ALL SELECT 6, $2.0$, -$0.08333333333333333$, 1 UNION ALL SELECT 6, -$2.0$, $0.08333333333333333$, 1",
    "changed": {
        "ec_changed": {
            "ec_y00": "ec_x00 + CASE WHEN (ec_step = 1) THEN ec_change * (ec_x00 * $0.0001$) ELSE 0 END",
            "ec_y01": "ec_x01 + CASE WHEN (ec_step = 2) THEN ec_change * (ec_x01 * $0.0001$) ELSE 0 END",
            "ec_y10": "ec_x10 + CASE WHEN (ec_step = 3) THEN ec_change * (ec_x10 * $0.0001$) ELSE 0 END",
            "ec_y11": "ec_x11 + CASE WHEN (ec_step = 4) THEN ec_change * (ec_x11 * $0.0001$) ELSE 0 END",
            "ec_y02": "ec_x02 + CASE WHEN (ec_step = 5) THEN ec_change * (ec_x02 * $0.0001$) ELSE 0 END",
            "ec_y12": "ec_x12 + CASE WHEN (ec_step = 6) THEN ec_change * (ec_x12 * $0.0001$) ELSE 0 END"
        },
        "ec_class_sizes": {
            "ec_m0": "CASE WHEN ec_u = 1 THEN ec_y00 + ec_y01 ELSE ec_y00 END",
            "ec_m1": "CASE WHEN ec_u = 1 THEN ec_y10 + ec_y11 ELSE ec_y10 END"
        },
        "ec_rates": {
            "ec_r00": "ec_y00 / NULLIF(ec_m0, 0)",
            "ec_r01": "ec_y01 / NULLIF(ec_m0, 0)",
            "ec_r10": "ec_y10 / NULLIF(ec_m1, 0)",
            "ec_r11": "ec_y11 / NULLIF(ec_m1, 0)",
            "ec_r02": "ec_y02 / NULLIF(ec_m0, 0)",
            "ec_r12": "ec_y12 / NULLIF(ec_m1, 0)",
            "ec_p0": "ec_m0 / NULLIF(ec_m0 + ec_m1, 0)",
            "ec_p1": "ec_m1 / NULLIF(ec_m1 + ec_m0, 0)"
        }
    },
    "changed_from_least": {
        "ec_bounded": {
            "ec_x00": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x00) >= $1e-70$ AND ABS(ec_raw_x00) <= $1e+60$ THEN ec_raw_x00 WHEN ABS(ec_raw_x00) < $1e-70$ THEN 0 END",
            "ec_x01": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x01) >= $1e-70$ AND ABS(ec_raw_x01) <= $1e+60$ THEN ec_raw_x01 WHEN ABS(ec_raw_x01) < $1e-70$ THEN 0 END",
            "ec_x10": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x10) >= $1e-70$ AND ABS(ec_raw_x10) <= $1e+60$ THEN ec_raw_x10 WHEN ABS(ec_raw_x10) < $1e-70$ THEN 0 END",
            "ec_x11": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x11) >= $1e-70$ AND ABS(ec_raw_x11) <= $1e+60$ THEN ec_raw_x11 WHEN ABS(ec_raw_x11) < $1e-70$ THEN 0 END",
            "ec_x02": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x02) >= $1e-70$ AND ABS(ec_raw_x02) <= $1e+60$ THEN ec_raw_x02 WHEN ABS(ec_raw_x02) < $1e-70$ THEN 0 END",
            "ec_x12": "CASE WHEN ec_step = -1 OR ABS(ec_raw_x12) >= $1e-70$ AND ABS(ec_raw_x12) <= $1e+60$ THEN ec_raw_x12 WHEN ABS(ec_raw_x12) < $1e-70$ THEN 0 END",
            "ec_a0": "CASE WHEN ec_step = -1 OR ABS(ec_raw_a0) >= $1e-140$ AND ABS(ec_raw_a0) <= $1e+120$ THEN ec_raw_a0 WHEN ABS(ec_raw_a0) < $1e-140$ THEN 0 END",
            "ec_b0": "CASE WHEN ec_step = -1 OR ABS(ec_raw_b0) >= $1e-140$ AND ABS(ec_raw_b0) <= $1e+120$ THEN ec_raw_b0 WHEN ABS(ec_raw_b0) < $1e-140$ THEN 0 END",
            "ec_c0": "CASE WHEN ec_step = -1 OR ABS(ec_raw_c0) >= $1e-140$ AND ABS(ec_raw_c0) <= $1e+120$ THEN ec_raw_c0 WHEN ABS(ec_raw_c0) < $1e-140$ THEN 0 END",
            "ec_d0": "CASE WHEN ec_step = -1 OR ABS(ec_raw_d0) >= $1e-140$ AND ABS(ec_raw_d0) <= $1e+120$ THEN ec_raw_d0 WHEN ABS(ec_raw_d0) < $1e-140$ THEN 0 END",
            "ec_e0": "CASE WHEN ec_step = -1 OR ABS(ec_raw_e0) >= $1e-140$ AND ABS(ec_raw_e0) <= $1e+120$ THEN ec_raw_e0 WHEN ABS(ec_raw_e0) < $1e-140$ THEN 0 END",
            "ec_a1": "CASE WHEN ec_step = -1 OR ABS(ec_raw_a1) >= $1e-140$ AND ABS(ec_raw_a1) <= $1e+120$ THEN ec_raw_a1 WHEN ABS(ec_raw_a1) < $1e-140$ THEN 0 END",
            "ec_b1": "CASE WHEN ec_step = -1 OR ABS(ec_raw_b1) >= $1e-140$ AND ABS(ec_raw_b1) <= $1e+120$ THEN ec_raw_b1 WHEN ABS(ec_raw_b1) < $1e-140$ THEN 0 END",
            "ec_c1": "CASE WHEN ec_step = -1 OR ABS(ec_raw_c1) >= $1e-140$ AND ABS(ec_raw_c1) <= $1e+120$ THEN ec_raw_c1 WHEN ABS(ec_raw_c1) < $1e-140$ THEN 0 END",
            "ec_d1": "CASE WHEN ec_step = -1 OR ABS(ec_raw_d1) >= $1e-140$ AND ABS(ec_raw_d1) <= $1e+120$ THEN ec_raw_d1 WHEN ABS(ec_raw_d1) < $1e-140$ THEN 0 END",
            "ec_e1": "CASE WHEN ec_step = -1 OR ABS(ec_raw_e1) >= $1e-140$ AND ABS(ec_raw_e1) <= $1e+120$ THEN ec_raw_e1 WHEN ABS(ec_raw_e1) < $1e-140$ THEN 0 END"
        },
        "ec_changed": {
            "ec_y00": "ec_x00 + CASE WHEN (ec_step = 1) THEN ec_change * (ec_x00 * $0.0001$) ELSE 0 END",
            "ec_y01": "ec_x01 + CASE WHEN (ec_step = 2) THEN ec_change * (ec_x01 * $0.0001$) ELSE 0 END",
            "ec_y10": "ec_x10 + CASE WHEN (ec_step = 3) THEN ec_change * (ec_x10 * $0.0001$) ELSE 0 END",
            "ec_y11": "ec_x11 + CASE WHEN (ec_step = 4) THEN ec_change * (ec_x11 * $0.0001$) ELSE 0 END",
            "ec_y02": "ec_x02 + CASE WHEN (ec_step = 5) THEN ec_change * (ec_x02 * $0.0001$) ELSE 0 END",
            "ec_y12": "ec_x12 + CASE WHEN (ec_step = 6) THEN ec_change * (ec_x12 * $0.0001$) ELSE 0 END"
        },
        "ec_class_sizes": {
            "ec_m0": "CASE WHEN ec_u = 1 THEN ec_y00 + ec_y01 ELSE ec_y00 END",
            "ec_m1": "CASE WHEN ec_u = 1 THEN ec_y10 + ec_y11 ELSE ec_y10 END"
        },
        "ec_rates": {
            "ec_r00": "ec_y00 / NULLIF(ec_m0, 0)",
            "ec_r01": "ec_y01 / NULLIF(ec_m0, 0)",
            "ec_r10": "ec_y10 / NULLIF(ec_m1, 0)",
            "ec_r11": "ec_y11 / NULLIF(ec_m1, 0)",
            "ec_r02": "ec_y02 / NULLIF(ec_m0, 0)",
            "ec_r12": "ec_y12 / NULLIF(ec_m1, 0)",
            "ec_p0": "ec_m0 / NULLIF(ec_m0 + ec_m1, 0)",
            "ec_p1": "ec_m1 / NULLIF(ec_m1 + ec_m0, 0)"
        }
    },
    "rates_stated": {
        "ec_r00": "ec_y00 / NULLIF(ec_m0, 0)",
        "ec_r01": "ec_y01 / NULLIF(ec_m0, 0)",
        "ec_r10": "ec_y10 / NULLIF(ec_m1, 0)",
        "ec_r11": "ec_y11 / NULLIF(ec_m1, 0)",
        "ec_r02": "ec_y02 / NULLIF(ec_m0, 0)",
        "ec_r12": "ec_y12 / NULLIF(ec_m1, 0)",
        "ec_p0": "CASE WHEN ec_at_prior = 0 THEN ec_m0 / NULLIF(ec_m0 + ec_m1, 0) WHEN ec_m0 + ec_m1 > 0 THEN $share_0$ END",
        "ec_p1": "CASE WHEN ec_at_prior = 0 THEN ec_m1 / NULLIF(ec_m1 + ec_m0, 0) WHEN ec_m0 + ec_m1 > 0 THEN $share_1$ END"
    },
    "values": {
        "expected_cost": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * CASE WHEN ec_r12 <= $1.7976931348623157e+308$ THEN ec_r12 END END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * CASE WHEN ec_r02 <= $1.7976931348623157e+308$ THEN ec_r02 END END",
        "bayes_risk": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * CASE WHEN ec_r12 <= $1.7976931348623157e+308$ THEN ec_r12 END END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * CASE WHEN ec_r02 <= $1.7976931348623157e+308$ THEN ec_r02 END END",
        "nec": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * CASE WHEN ec_r12 <= $1.7976931348623157e+308$ THEN ec_r12 END END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * CASE WHEN ec_r02 <= $1.7976931348623157e+308$ THEN ec_r02 END END) / NULLIF($least$(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * CASE WHEN ec_r11 <= $1.7976931348623157e+308$ THEN ec_r11 END END, CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * CASE WHEN ec_r01 <= $1.7976931348623157e+308$ THEN ec_r01 END END), 0)",
        "error_rate": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "accuracy": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r00 END",
        "balanced_error_rate": "CASE WHEN NOT (ec_p1 IS NULL) THEN (ec_r10 + ec_r01) / 2 END",
        "balanced_accuracy": "CASE WHEN NOT (ec_p1 IS NULL) THEN (ec_r11 + ec_r00) / 2 END",
        "precision": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END, 0)",
        "recall": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r11 END",
        "specificity": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r00 END",
        "fpr": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r01 END",
        "fnr": "CASE WHEN NOT (ec_p1 IS NULL) THEN ec_r10 END",
        "decision_share": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "f1": "CASE WHEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END > 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / ((CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + ($0.5$ * CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END)) + ($0.5$ * CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END)) WHEN (CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) > 0 THEN $0.0$ END",
        "informedness": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END END",
        "mcc": "CASE WHEN (ec_p1 > 0) AND (ec_p0 > 0) THEN (SQRT(ec_p1 * ec_p0) * CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END) / NULLIF(SQRT(((ec_p1 * ec_r11) + (ec_p0 * ec_r01)) * ((ec_p1 * ec_r10) + (ec_p0 * ec_r00))), 0) END",
        "lr_plus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r01 > 0 THEN ec_r11 / ec_r01 WHEN (ec_r01 = 0) AND (ec_r11 > 0) THEN $infinity$ END END",
        "lr_minus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r00 > 0 THEN ec_r10 / ec_r00 WHEN (ec_r00 = 0) AND (ec_r10 > 0) THEN $infinity$ END END",
        "precision_gain": "CASE WHEN NOT (ec_p1 IS NULL) THEN 1 - CASE WHEN ec_r11 > 0 THEN ec_r01 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r01 > 0) THEN $infinity$ END END",
        "recall_gain": "CASE WHEN ((ec_p0 > 0) AND (ec_m0 > 0)) AND ((ec_p1 > 0) OR (ec_r11 > 0)) THEN 1 - ((ec_p1 / ec_p0) * CASE WHEN ec_r11 > 0 THEN ec_r10 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r10 > 0) THEN $infinity$ END) END",
        "cross_entropy": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "nce": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ WHEN ec_p1 > $0.5$ THEN ec_p1 * ((ec_p0 - (1 - (1 - ec_p0))) - LN(1 - ec_p0)) ELSE (-ec_p1) * LN(ec_p1) END + CASE WHEN ec_p0 = 0 THEN $0.0$ WHEN ec_p0 > $0.5$ THEN ec_p0 * ((ec_p1 - (1 - (1 - ec_p1))) - LN(1 - ec_p1)) ELSE (-ec_p0) * LN(ec_p0) END, 0)",
        "brier": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "nbs": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) / NULLIF(ec_p1 * ec_p0, 0)",
        "ec: kink": "(ec_p1 * CASE WHEN ec_r11 <= $1.7976931348623157e+308$ THEN ec_r11 END) - (ec_p0 * CASE WHEN ec_r01 <= $1.7976931348623157e+308$ THEN ec_r01 END)"
    },
    "slopes": {
        "ec_numbers": {
            "ec_number": "CASE WHEN ABS(ec_at_step) <= $1.7976931348623157e+308$ THEN ec_at_step END"
        },
        "ec_slopes": {
            "ec_value": "SUM(CASE WHEN ec_step = -1 THEN ec_at_step END)",
            "ec_centre": "SUM(CASE WHEN ec_step = 0 THEN ec_number END)",
            "ec_numbers_known": "COUNT(CASE WHEN ec_step >= 0 THEN ec_number END)",
            "ec_s00": "SUM(CASE WHEN ec_step = 0 THEN ec_x00 END)",
            "ec_d00": "SUM(CASE WHEN ec_step = 1 THEN ec_share * ec_number END)",
            "ec_s01": "SUM(CASE WHEN ec_step = 0 THEN ec_x01 END)",
            "ec_d01": "SUM(CASE WHEN ec_step = 2 THEN ec_share * ec_number END)",
            "ec_s10": "SUM(CASE WHEN ec_step = 0 THEN ec_x10 END)",
            "ec_d10": "SUM(CASE WHEN ec_step = 3 THEN ec_share * ec_number END)",
            "ec_s11": "SUM(CASE WHEN ec_step = 0 THEN ec_x11 END)",
            "ec_d11": "SUM(CASE WHEN ec_step = 4 THEN ec_share * ec_number END)",
            "ec_s02": "SUM(CASE WHEN ec_step = 0 THEN ec_x02 END)",
            "ec_d02": "SUM(CASE WHEN ec_step = 5 THEN ec_share * ec_number END)",
            "ec_s12": "SUM(CASE WHEN ec_step = 0 THEN ec_x12 END)",
            "ec_d12": "SUM(CASE WHEN ec_step = 6 THEN ec_share * ec_number END)"
        },
        "ec_gradients": {
            "ec_g00": "CASE WHEN ec_s00 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d00 / (ec_s00 * $0.0001$) END",
            "ec_g01": "CASE WHEN ec_s01 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d01 / (ec_s01 * $0.0001$) END",
            "ec_g10": "CASE WHEN ec_s10 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d10 / (ec_s10 * $0.0001$) END",
            "ec_g11": "CASE WHEN ec_s11 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d11 / (ec_s11 * $0.0001$) END",
            "ec_g02": "CASE WHEN ec_s02 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d02 / (ec_s02 * $0.0001$) END",
            "ec_g12": "CASE WHEN ec_s12 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d12 / (ec_s12 * $0.0001$) END"
        }
    },
    "slopes_from_least": {
        "ec_numbers": {
            "ec_number": "CASE WHEN ABS(ec_at_step) < $1e-30$ THEN 0 WHEN ABS(ec_at_step) <= $1e+30$ THEN ec_at_step END"
        },
        "ec_slopes": {
            "ec_value": "SUM(CASE WHEN ec_step = -1 THEN ec_at_step END)",
            "ec_centre": "SUM(CASE WHEN ec_step = 0 THEN ec_number END)",
            "ec_numbers_known": "COUNT(CASE WHEN ec_step >= 0 THEN ec_number END)",
            "ec_s00": "SUM(CASE WHEN ec_step = 0 THEN ec_x00 END)",
            "ec_d00": "SUM(CASE WHEN ec_step = 1 THEN ec_share * ec_number END)",
            "ec_s01": "SUM(CASE WHEN ec_step = 0 THEN ec_x01 END)",
            "ec_d01": "SUM(CASE WHEN ec_step = 2 THEN ec_share * ec_number END)",
            "ec_s10": "SUM(CASE WHEN ec_step = 0 THEN ec_x10 END)",
            "ec_d10": "SUM(CASE WHEN ec_step = 3 THEN ec_share * ec_number END)",
            "ec_s11": "SUM(CASE WHEN ec_step = 0 THEN ec_x11 END)",
            "ec_d11": "SUM(CASE WHEN ec_step = 4 THEN ec_share * ec_number END)",
            "ec_s02": "SUM(CASE WHEN ec_step = 0 THEN ec_x02 END)",
            "ec_d02": "SUM(CASE WHEN ec_step = 5 THEN ec_share * ec_number END)",
            "ec_s12": "SUM(CASE WHEN ec_step = 0 THEN ec_x12 END)",
            "ec_d12": "SUM(CASE WHEN ec_step = 6 THEN ec_share * ec_number END)"
        },
        "ec_gradients": {
            "ec_g00": "CASE WHEN ec_s00 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d00 / (ec_s00 * $0.0001$) END",
            "ec_g01": "CASE WHEN ec_s01 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d01 / (ec_s01 * $0.0001$) END",
            "ec_g10": "CASE WHEN ec_s10 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d10 / (ec_s10 * $0.0001$) END",
            "ec_g11": "CASE WHEN ec_s11 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d11 / (ec_s11 * $0.0001$) END",
            "ec_g02": "CASE WHEN ec_s02 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d02 / (ec_s02 * $0.0001$) END",
            "ec_g12": "CASE WHEN ec_s12 = 0 THEN 0 WHEN ec_numbers_known = 25 THEN ec_d12 / (ec_s12 * $0.0001$) END"
        }
    },
    "spread": {
        "ec_influences": {
            "ec_i_w_0": "ec_s00 + (ec_u * ec_s01)",
            "ec_i_w2_0": "ec_a0 + (ec_u * ((2 * ec_b0) + ec_c0))",
            "ec_i_i_0": "((ec_g00 * ec_s00) + (ec_g01 * ec_s01)) + (ec_g02 * ec_s02)",
            "ec_i_s_0": "(((((ec_g00 * ec_g00) * ec_a0) + (((2 * ec_g00) * ec_g01) * ec_b0)) + ((ec_g01 * ec_g01) * ec_c0)) + (((2 * ec_g00) * ec_g02) * ec_d0)) + ((((2 * ec_g01) + ec_g02) * ec_g02) * ec_e0)",
            "ec_i_m_0": "((ec_g00 * (ec_a0 + (ec_u * ec_b0))) + (ec_g01 * (ec_b0 + (ec_u * ec_c0)))) + (ec_g02 * ec_d0)",
            "ec_i_w_1": "ec_s10 + (ec_u * ec_s11)",
            "ec_i_w2_1": "ec_a1 + (ec_u * ((2 * ec_b1) + ec_c1))",
            "ec_i_i_1": "((ec_g10 * ec_s10) + (ec_g11 * ec_s11)) + (ec_g12 * ec_s12)",
            "ec_i_s_1": "(((((ec_g10 * ec_g10) * ec_a1) + (((2 * ec_g10) * ec_g11) * ec_b1)) + ((ec_g11 * ec_g11) * ec_c1)) + (((2 * ec_g10) * ec_g12) * ec_d1)) + ((((2 * ec_g11) + ec_g12) * ec_g12) * ec_e1)",
            "ec_i_m_1": "((ec_g10 * (ec_a1 + (ec_u * ec_b1))) + (ec_g11 * (ec_b1 + (ec_u * ec_c1)))) + (ec_g12 * ec_d1)"
        },
        "ec_means_of_class": {
            "ec_mean_0": "ec_i_i_0 / NULLIF(ec_i_w_0, 0)",
            "ec_k_0": "CASE WHEN ec_i_w_0 > 0 THEN (ec_i_w_0 * ec_i_w_0) / ec_i_w2_0 ELSE 0 END",
            "ec_mean_1": "ec_i_i_1 / NULLIF(ec_i_w_1, 0)",
            "ec_k_1": "CASE WHEN ec_i_w_1 > 0 THEN (ec_i_w_1 * ec_i_w_1) / ec_i_w2_1 ELSE 0 END"
        },
        "ec_parts": {
            "ec_within_0": "CASE WHEN ((ec_i_s_0 - ((2 * ec_mean_0) * ec_i_m_0)) + ((ec_mean_0 * ec_mean_0) * ec_i_w2_0)) > ($1e-13$ * ec_i_s_0) THEN (ec_i_s_0 - ((2 * ec_mean_0) * ec_i_m_0)) + ((ec_mean_0 * ec_mean_0) * ec_i_w2_0) ELSE 0 END * (ec_k_0 / NULLIF(ec_k_0 - 1, 0))",
            "ec_between_0": "(ec_mean_0 * ec_mean_0) * ec_i_w2_0",
            "ec_within_1": "CASE WHEN ((ec_i_s_1 - ((2 * ec_mean_1) * ec_i_m_1)) + ((ec_mean_1 * ec_mean_1) * ec_i_w2_1)) > ($1e-13$ * ec_i_s_1) THEN (ec_i_s_1 - ((2 * ec_mean_1) * ec_i_m_1)) + ((ec_mean_1 * ec_mean_1) * ec_i_w2_1) ELSE 0 END * (ec_k_1 / NULLIF(ec_k_1 - 1, 0))",
            "ec_between_1": "(ec_mean_1 * ec_mean_1) * ec_i_w2_1"
        },
        "ec_variances": {
            "ec_variance": "ec_within_0 + ec_between_0 + ec_within_1 + ec_between_1"
        },
        "ec_parts_of_variance": {
            "ec_part_0": "CASE WHEN ec_within_0 > $1e-60$ * ec_variance THEN ec_within_0 ELSE 0 END",
            "ec_part_1": "CASE WHEN ec_within_1 > $1e-60$ * ec_variance THEN ec_within_1 ELSE 0 END",
            "ec_part_2": "CASE WHEN ec_between_0 + ec_between_1 > $1e-60$ * ec_variance THEN ec_between_0 + ec_between_1 ELSE 0 END"
        },
        "ec_freedom": {
            "ec_df": "CASE WHEN ec_variance = 0 THEN (ec_k_0 + ec_k_1) - 1 ELSE 1 / NULLIF((CASE WHEN ec_part_0 <> 0 THEN (POWER(ec_part_0 / ec_variance, 2)) / (ec_k_0 - 1) ELSE 0 END + CASE WHEN ec_part_1 <> 0 THEN (POWER(ec_part_1 / ec_variance, 2)) / (ec_k_1 - 1) ELSE 0 END) + ((POWER(ec_part_2 / ec_variance, 2)) / ((ec_k_0 + ec_k_1) - 1)), 0) END"
        },
        "ec_degrees": {
            "ec_nu": "CASE WHEN ec_df > 1 AND ec_df < $1e+30$ THEN ec_df WHEN ec_df >= $1e+30$ AND ec_df <= $1.7976931348623157e+308$ THEN $1e+30$ ELSE $1.0$ END"
        }
    },
    "ends": {
        "log": {
            "ec_widths": {
                "ec_at": "CASE WHEN ec_centre > 0 THEN LN(CASE WHEN (ec_centre) > 0 THEN ec_centre END) END",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1 / NULLIF(ec_centre, 0))"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN $is_of_decisions$ THEN CASE WHEN ec_half < 100 THEN (((1 * 1) * ec_half) * 1) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 1 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (-ec_skew)) > (ec_t * ec_t) THEN (((-ec_skew) / 4) + (((-ec_skew) * (-ec_skew)) / 8)) / 1 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "CASE WHEN (ec_low_z) < -$708.0$ THEN $0.0$ WHEN (ec_low_z) > $709.78$ THEN $infinity$ ELSE EXP(ec_low_z) END",
                "ec_high_end": "CASE WHEN (ec_high_z) < -$708.0$ THEN $0.0$ WHEN (ec_high_z) > $709.78$ THEN $infinity$ ELSE EXP(ec_high_z) END"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        },
        "logit": {
            "ec_widths": {
                "ec_at": "CASE WHEN (ec_centre > 0) AND (ec_centre < 1) THEN LN(CASE WHEN (ec_centre) > 0 THEN ec_centre END) + ((ec_centre - (1 - (1 - ec_centre))) - LN(CASE WHEN (1 - ec_centre) > 0 THEN 1 - ec_centre END)) END",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1 / NULLIF(ec_centre * (1 - ec_centre), 0))"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN $is_of_decisions$ THEN CASE WHEN ec_half < 100 THEN (((1 - (2 * ec_centre) * 1) * ec_half) * 1) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 1 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (-ec_skew)) > (ec_t * ec_t) THEN (((-ec_skew) / 4) + (((-ec_skew) * (-ec_skew)) / 8)) / 1 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "1 / (1 + CASE WHEN (-ec_low_z) < -$708.0$ THEN $0.0$ WHEN (-ec_low_z) > $709.78$ THEN $infinity$ ELSE EXP(-ec_low_z) END)",
                "ec_high_end": "1 / (1 + CASE WHEN (-ec_high_z) < -$708.0$ THEN $0.0$ WHEN (-ec_high_z) > $709.78$ THEN $infinity$ ELSE EXP(-ec_high_z) END)"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        },
        "atanh": {
            "ec_widths": {
                "ec_at": "CASE WHEN ABS(ec_centre) < 1 THEN (LN(CASE WHEN (1 + ec_centre) > 0 THEN 1 + ec_centre END) - LN(CASE WHEN (1 - ec_centre) > 0 THEN 1 - ec_centre END)) / 2 END",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1 / NULLIF(1 - (ec_centre * ec_centre), 0))"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN $is_of_decisions$ THEN CASE WHEN ec_half < 100 THEN (((-ec_centre * 2) * ec_half) * 2) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 2 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (-ec_skew)) > (ec_t * ec_t) THEN (((-ec_skew) / 4) + (((-ec_skew) * (-ec_skew)) / 8)) / 2 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "TANH(ec_low_z)",
                "ec_high_end": "TANH(ec_high_z)"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        },
        "ratio": {
            "ec_widths": {
                "ec_at": "CASE WHEN ec_centre > 0 THEN LN(CASE WHEN (ec_centre) > 0 THEN ec_centre END) END",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1 / NULLIF(ec_centre, 0))"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN $is_of_decisions$ THEN CASE WHEN ec_half < 100 THEN (((1 * 1) * ec_half) * 1) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 1 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (ec_skew)) > (ec_t * ec_t) THEN (((ec_skew) / 4) + (((ec_skew) * (ec_skew)) / 8)) / 1 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "CASE WHEN (ec_low_z) < -$708.0$ THEN $0.0$ WHEN (ec_low_z) > $709.78$ THEN $infinity$ ELSE EXP(ec_low_z) END",
                "ec_high_end": "CASE WHEN (ec_high_z) < -$708.0$ THEN $0.0$ WHEN (ec_high_z) > $709.78$ THEN $infinity$ ELSE EXP(ec_high_z) END"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        },
        "identity": {
            "ec_widths": {
                "ec_at": "ec_centre",
                "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(1)"
            },
            "ec_skews": {
                "ec_skew": "CASE WHEN $is_of_decisions$ THEN CASE WHEN ec_half < 100 THEN (((0 * 1) * ec_half) * 1) * ec_half ELSE 0 END ELSE 0 END"
            },
            "ec_far": {
                "ec_low_z": "ec_at - ec_half - CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / 1 ELSE 0 END",
                "ec_high_z": "ec_at + ec_half + CASE WHEN (20 * (-ec_skew)) > (ec_t * ec_t) THEN (((-ec_skew) / 4) + (((-ec_skew) * (-ec_skew)) / 8)) / 1 ELSE 0 END"
            },
            "ec_ends": {
                "ec_low_end": "ec_low_z",
                "ec_high_end": "ec_high_z"
            },
            "ec_complete": {
                "ec_shown": "CASE WHEN ABS(ec_high_z - ec_low_z) <= $1.7976931348623157e+308$ AND ABS(ec_high_end) <= $1.7976931348623157e+308$ AND ABS(ec_value) <= $1.7976931348623157e+308$ AND ((ec_centre = 0) OR ((ABS(ec_centre) > $1e-140$) AND (ABS(ec_centre) < $1e+140$))) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * $least$(ec_low_end, ec_value)",
                "ec_high": "ec_shown * $greatest$(ec_high_end, ec_value)"
            }
        }
    }
}) }}{% endmacro %}

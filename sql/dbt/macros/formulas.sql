{# Written by python -m sql.generate.dbt_macros, from what writes the report for warehouses. #}

{% macro report_parts() %}{{ return({
    "usual": ["nec", "nce", "nbs", "precision", "f1", "recall"],
    "cells": ["tn", "fp", "fn", "tp"],
    "losses": {
        "cross_entropy": "log_loss",
        "nce": "log_loss",
        "brier": "brier",
        "nbs": "brier"},
    "moved_by_prior": ["expected_cost", "bayes_risk", "nec", "error_rate", "accuracy", "precision", "f1", "mcc", "precision_gain", "recall_gain", "cross_entropy", "nce", "brier", "nbs"],
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
        "f1": "CASE WHEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END > 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / ((CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + ($0.5$ * CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END)) + ($0.5$ * CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END)) WHEN (CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) > 0 THEN $0.0$ END",
        "informedness": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END END",
        "mcc": "CASE WHEN (ec_p1 > 0) AND (ec_p0 > 0) THEN (SQRT(ec_p1 * ec_p0) * CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END) / NULLIF(SQRT(((ec_p1 * ec_r11) + (ec_p0 * ec_r01)) * ((ec_p1 * ec_r10) + (ec_p0 * ec_r00))), 0) END",
        "lr_plus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r01 > 0 THEN ec_r11 / ec_r01 WHEN (ec_r01 = 0) AND (ec_r11 > 0) THEN $infinity$ END END",
        "lr_minus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r00 > 0 THEN ec_r10 / ec_r00 WHEN (ec_r00 = 0) AND (ec_r10 > 0) THEN $infinity$ END END",
        "precision_gain": "CASE WHEN (ec_p1 > 0) AND (ec_p0 > 0) THEN 1 - CASE WHEN ec_r11 > 0 THEN ec_r01 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r01 > 0) THEN $infinity$ END END",
        "recall_gain": "CASE WHEN ((ec_p0 > 0) AND (ec_n0 > 0)) AND ((ec_p1 > 0) OR (ec_r11 > 0)) THEN 1 - ((ec_p1 / ec_p0) * CASE WHEN ec_r11 > 0 THEN ec_r10 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r10 > 0) THEN $infinity$ END) END",
        "cross_entropy": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_log_loss_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_log_loss_0 END",
        "nce": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_log_loss_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_log_loss_0 END) / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ WHEN ec_p1 > $0.5$ THEN ec_p1 * ((ec_p0 - (1 - (1 - ec_p0))) - LN(1 - ec_p0)) ELSE (-ec_p1) * LN(ec_p1) END + CASE WHEN ec_p0 = 0 THEN $0.0$ WHEN ec_p0 > $0.5$ THEN ec_p0 * ((ec_p1 - (1 - (1 - ec_p1))) - LN(1 - ec_p1)) ELSE (-ec_p0) * LN(ec_p0) END, 0)",
        "brier": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_brier_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_brier_0 END",
        "nbs": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_brier_1 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_brier_0 END) / NULLIF(ec_p1 * ec_p0, 0)"},
    "others": {
        "n": "CAST(ec_n AS $bigint$)",
        "class_prior": "ec_p1",
        "n_missing": "CAST(ec_n_missing AS $bigint$)",
        "n_invalid": "CAST(ec_n_invalid AS $bigint$)"},
    "means": {
        "ec_n": "ec_n",
        "ec_n_missing": "ec_n_missing",
        "ec_n_invalid": "ec_n_invalid",
        "ec_sum_log_loss_0": "ec_sum_log_loss_0",
        "ec_sum_brier_0": "ec_sum_brier_0",
        "ec_infinite_0": "ec_infinite_0",
        "ec_sum_log_loss_1": "ec_sum_log_loss_1",
        "ec_sum_brier_1": "ec_sum_brier_1",
        "ec_infinite_1": "ec_infinite_1",
        "ec_sq_tn": "ec_sq_tn",
        "ec_sq_fp": "ec_sq_fp",
        "ec_sq_fn": "ec_sq_fn",
        "ec_sq_tp": "ec_sq_tp",
        "ec_sum_log_loss1_0": "ec_sum_log_loss1_0",
        "ec_sum_log_loss2_0": "ec_sum_log_loss2_0",
        "ec_sum_brier1_0": "ec_sum_brier1_0",
        "ec_sum_brier2_0": "ec_sum_brier2_0",
        "ec_sum_log_loss1_1": "ec_sum_log_loss1_1",
        "ec_sum_log_loss2_1": "ec_sum_log_loss2_1",
        "ec_sum_brier1_1": "ec_sum_brier1_1",
        "ec_sum_brier2_1": "ec_sum_brier2_1",
        "ec_tn": "ec_tn",
        "ec_fp": "ec_fp",
        "ec_fn": "ec_fn",
        "ec_tp": "ec_tp",
        "ec_all_0": "ec_all_0",
        "ec_squares_0": "ec_squares_0",
        "ec_all_1": "ec_all_1",
        "ec_squares_1": "ec_squares_1",
        "ec_n0": "ec_n0",
        "ec_n1": "ec_n1",
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
        "ec_brier_1": "ec_sum_brier_1 / NULLIF(ec_n1, 0)"},
    "sizes": {
        "ec_n": "ec_n",
        "ec_n_missing": "ec_n_missing",
        "ec_n_invalid": "ec_n_invalid",
        "ec_sum_log_loss_0": "ec_sum_log_loss_0",
        "ec_sum_brier_0": "ec_sum_brier_0",
        "ec_infinite_0": "ec_infinite_0",
        "ec_sum_log_loss_1": "ec_sum_log_loss_1",
        "ec_sum_brier_1": "ec_sum_brier_1",
        "ec_infinite_1": "ec_infinite_1",
        "ec_sq_tn": "ec_sq_tn",
        "ec_sq_fp": "ec_sq_fp",
        "ec_sq_fn": "ec_sq_fn",
        "ec_sq_tp": "ec_sq_tp",
        "ec_sum_log_loss1_0": "ec_sum_log_loss1_0",
        "ec_sum_log_loss2_0": "ec_sum_log_loss2_0",
        "ec_sum_brier1_0": "ec_sum_brier1_0",
        "ec_sum_brier2_0": "ec_sum_brier2_0",
        "ec_sum_log_loss1_1": "ec_sum_log_loss1_1",
        "ec_sum_log_loss2_1": "ec_sum_log_loss2_1",
        "ec_sum_brier1_1": "ec_sum_brier1_1",
        "ec_sum_brier2_1": "ec_sum_brier2_1",
        "ec_tn": "ec_tn",
        "ec_fp": "ec_fp",
        "ec_fn": "ec_fn",
        "ec_tp": "ec_tp",
        "ec_all_0": "ec_all_0",
        "ec_squares_0": "ec_squares_0",
        "ec_all_1": "ec_all_1",
        "ec_squares_1": "ec_squares_1",
        "ec_n0": "ec_tn + ec_fp",
        "ec_n1": "ec_fn + ec_tp"},
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
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)"},
    "groups": {
        "ec_n": "ec_n",
        "ec_n_missing": "ec_n_missing",
        "ec_n_invalid": "ec_n_invalid",
        "ec_sum_log_loss_0": "ec_sum_log_loss_0",
        "ec_sum_brier_0": "ec_sum_brier_0",
        "ec_infinite_0": "ec_infinite_0",
        "ec_sum_log_loss_1": "ec_sum_log_loss_1",
        "ec_sum_brier_1": "ec_sum_brier_1",
        "ec_infinite_1": "ec_infinite_1",
        "ec_sq_tn": "ec_sq_tn",
        "ec_sq_fp": "ec_sq_fp",
        "ec_sq_fn": "ec_sq_fn",
        "ec_sq_tp": "ec_sq_tp",
        "ec_sum_log_loss1_0": "ec_sum_log_loss1_0",
        "ec_sum_log_loss2_0": "ec_sum_log_loss2_0",
        "ec_sum_brier1_0": "ec_sum_brier1_0",
        "ec_sum_brier2_0": "ec_sum_brier2_0",
        "ec_sum_log_loss1_1": "ec_sum_log_loss1_1",
        "ec_sum_log_loss2_1": "ec_sum_log_loss2_1",
        "ec_sum_brier1_1": "ec_sum_brier1_1",
        "ec_sum_brier2_1": "ec_sum_brier2_1",
        "ec_tn": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_tn END",
        "ec_fp": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_fp END",
        "ec_fn": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_fn END",
        "ec_tp": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_tp END",
        "ec_all_0": "CASE WHEN ec_sum_tn + ec_sum_fp <= $most_weight$ THEN ec_sum_tn + ec_sum_fp END",
        "ec_squares_0": "ec_sq_tn + ec_sq_fp",
        "ec_all_1": "CASE WHEN ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_fn + ec_sum_tp END",
        "ec_squares_1": "ec_sq_fn + ec_sq_tp"},
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
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)"},
    "groups_from_least": {
        "ec_n": "ec_n",
        "ec_n_missing": "ec_n_missing",
        "ec_n_invalid": "ec_n_invalid",
        "ec_sum_log_loss_0": "ec_sum_log_loss_0",
        "ec_sum_brier_0": "ec_sum_brier_0",
        "ec_infinite_0": "ec_infinite_0",
        "ec_sum_log_loss_1": "ec_sum_log_loss_1",
        "ec_sum_brier_1": "ec_sum_brier_1",
        "ec_infinite_1": "ec_infinite_1",
        "ec_sq_tn": "ec_sq_tn",
        "ec_sq_fp": "ec_sq_fp",
        "ec_sq_fn": "ec_sq_fn",
        "ec_sq_tp": "ec_sq_tp",
        "ec_sum_log_loss1_0": "ec_sum_log_loss1_0",
        "ec_sum_log_loss2_0": "ec_sum_log_loss2_0",
        "ec_sum_brier1_0": "ec_sum_brier1_0",
        "ec_sum_brier2_0": "ec_sum_brier2_0",
        "ec_sum_log_loss1_1": "ec_sum_log_loss1_1",
        "ec_sum_log_loss2_1": "ec_sum_log_loss2_1",
        "ec_sum_brier1_1": "ec_sum_brier1_1",
        "ec_sum_brier2_1": "ec_sum_brier2_1",
        "ec_tn": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_tn END",
        "ec_fp": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_fp END",
        "ec_fn": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_fn END",
        "ec_tp": "CASE WHEN ec_n_invalid = 0 THEN ec_sum_tp END",
        "ec_all_0": "CASE WHEN ec_sum_tn + ec_sum_fp <= $most_weight$ THEN ec_sum_tn + ec_sum_fp END",
        "ec_squares_0": "ec_sq_tn + ec_sq_fp",
        "ec_all_1": "CASE WHEN ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_fn + ec_sum_tp END",
        "ec_squares_1": "ec_sq_fn + ec_sq_tp"},
    "rows_of_posterior": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$"},
    "classes_of_posterior": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL THEN NULL WHEN ec_score >= 0 AND ec_score <= 1$not_nan ec_score$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score"},
    "usable_of_posterior": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_inner": "CASE WHEN ec_class >= 0 AND ec_score > 0 AND ec_score < 1 THEN ec_score END"},
    "logs_of_posterior": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)",
        "ec_loss_1": "-LN(ec_inner)"},
    "values_of_posterior": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
        "ec_error": "CASE WHEN ec_class = 1 THEN 1 - ec_used ELSE ec_used END"},
    "rows_of_percent": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$"},
    "classes_of_percent": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL THEN NULL WHEN ec_score >= 0 AND ec_score <= 100$not_nan ec_score$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score"},
    "usable_of_percent": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_inner": "CASE WHEN ec_class >= 0 AND (ec_score / 100) > 0 AND (ec_score / 100) < 1 THEN (ec_score / 100) END"},
    "logs_of_percent": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)",
        "ec_loss_1": "-LN(ec_inner)"},
    "values_of_percent": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
        "ec_error": "CASE WHEN ec_class = 1 THEN 1 - (ec_used / 100) ELSE (ec_used / 100) END"},
    "rows_of_log_odds": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$"},
    "classes_of_log_odds": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL THEN NULL WHEN 1 / (1 + ABS($log_odds$)) >= 0 AND 1 / (1 + ABS($log_odds$)) <= 1$not_nan ec_score$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score"},
    "usable_of_log_odds": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_finite": "CASE WHEN ec_class >= 0 AND $log_odds$ >= -$largest$ AND $log_odds$ <= $largest$ THEN $log_odds$ END",
        "ec_against": "CASE WHEN ec_class = 1 THEN -$log_odds$ WHEN ec_class = 0 THEN $log_odds$ END"},
    "logs_of_log_odds": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_finite": "ec_finite",
        "ec_against": "ec_against",
        "ec_exp": "CASE WHEN ABS(ec_finite) < 745 THEN EXP(-ABS(ec_finite)) ELSE 0 END"},
    "values_of_log_odds": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN NOT ec_finite IS NULL THEN CASE WHEN ec_against > 0 THEN ec_against ELSE 0 END + LN(1 + ec_exp) - (1 + ec_exp - 1 - ec_exp) / (1 + ec_exp) END",
        "ec_error": "CASE WHEN ec_against > 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END"},
    "rows_of_decision": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$"},
    "classes_of_decision": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL THEN NULL WHEN (ec_score = 0 OR ec_score = 1)$not_nan ec_score$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score"},
    "usable_of_decision": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END"},
    "logs_of_decision": {
        "ec_class": "ec_class",
        "ec_used": "ec_used"},
    "values_of_decision": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END"},
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
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN ec_times * ec_times * ec_error * ec_error * ec_error * ec_error ELSE 0 END), 0)"},
    "groups_weighted": {
        "ec_n": "ec_n",
        "ec_n_missing": "ec_n_missing",
        "ec_n_invalid": "ec_n_invalid",
        "ec_sum_log_loss_0": "ec_sum_log_loss_0",
        "ec_sum_brier_0": "ec_sum_brier_0",
        "ec_infinite_0": "ec_infinite_0",
        "ec_sum_log_loss_1": "ec_sum_log_loss_1",
        "ec_sum_brier_1": "ec_sum_brier_1",
        "ec_infinite_1": "ec_infinite_1",
        "ec_sq_tn": "ec_sq_tn",
        "ec_sq_fp": "ec_sq_fp",
        "ec_sq_fn": "ec_sq_fn",
        "ec_sq_tp": "ec_sq_tp",
        "ec_sum_log_loss1_0": "ec_sum_log_loss1_0",
        "ec_sum_log_loss2_0": "ec_sum_log_loss2_0",
        "ec_sum_brier1_0": "ec_sum_brier1_0",
        "ec_sum_brier2_0": "ec_sum_brier2_0",
        "ec_sum_log_loss1_1": "ec_sum_log_loss1_1",
        "ec_sum_log_loss2_1": "ec_sum_log_loss2_1",
        "ec_sum_brier1_1": "ec_sum_brier1_1",
        "ec_sum_brier2_1": "ec_sum_brier2_1",
        "ec_tn": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_tn END",
        "ec_fp": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_fp END",
        "ec_fn": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_fn END",
        "ec_tp": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_tp END",
        "ec_all_0": "CASE WHEN ec_sum_tn + ec_sum_fp <= $most_weight$ THEN ec_sum_tn + ec_sum_fp END",
        "ec_squares_0": "ec_sq_tn + ec_sq_fp",
        "ec_all_1": "CASE WHEN ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_fn + ec_sum_tp END",
        "ec_squares_1": "ec_sq_fn + ec_sq_tp"},
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
        "ec_sum_brier2_1": "COALESCE(SUM(CASE WHEN ec_class = 1 THEN CASE WHEN ABS(ec_times) > $most_weight$ OR ABS(ec_error) > $most_weight$ THEN $infinity$ ELSE CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_times) >= $least_factor$ THEN ec_times ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END * CASE WHEN ABS(ec_error) >= $least_factor$ THEN ec_error ELSE 0 END END ELSE 0 END), 0)"},
    "groups_weighted_from_least": {
        "ec_n": "ec_n",
        "ec_n_missing": "ec_n_missing",
        "ec_n_invalid": "ec_n_invalid",
        "ec_sum_log_loss_0": "ec_sum_log_loss_0",
        "ec_sum_brier_0": "ec_sum_brier_0",
        "ec_infinite_0": "ec_infinite_0",
        "ec_sum_log_loss_1": "ec_sum_log_loss_1",
        "ec_sum_brier_1": "ec_sum_brier_1",
        "ec_infinite_1": "ec_infinite_1",
        "ec_sq_tn": "ec_sq_tn",
        "ec_sq_fp": "ec_sq_fp",
        "ec_sq_fn": "ec_sq_fn",
        "ec_sq_tp": "ec_sq_tp",
        "ec_sum_log_loss1_0": "ec_sum_log_loss1_0",
        "ec_sum_log_loss2_0": "ec_sum_log_loss2_0",
        "ec_sum_brier1_0": "ec_sum_brier1_0",
        "ec_sum_brier2_0": "ec_sum_brier2_0",
        "ec_sum_log_loss1_1": "ec_sum_log_loss1_1",
        "ec_sum_log_loss2_1": "ec_sum_log_loss2_1",
        "ec_sum_brier1_1": "ec_sum_brier1_1",
        "ec_sum_brier2_1": "ec_sum_brier2_1",
        "ec_tn": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_tn END",
        "ec_fp": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_fp END",
        "ec_fn": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_fn END",
        "ec_tp": "CASE WHEN ec_n_invalid = 0 AND ec_sum_tn + ec_sum_fp + ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_tp END",
        "ec_all_0": "CASE WHEN ec_sum_tn + ec_sum_fp <= $most_weight$ THEN ec_sum_tn + ec_sum_fp END",
        "ec_squares_0": "ec_sq_tn + ec_sq_fp",
        "ec_all_1": "CASE WHEN ec_sum_fn + ec_sum_tp <= $most_weight$ THEN ec_sum_fn + ec_sum_tp END",
        "ec_squares_1": "ec_sq_fn + ec_sq_tp"},
    "rows_of_posterior_weighted": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$",
        "ec_weight": "CAST($weight$ AS $double$)"},
    "classes_of_posterior_weighted": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL OR ec_weight IS NULL THEN NULL WHEN ec_score >= 0 AND ec_score <= 1$not_nan ec_score$ AND ec_weight >= 0 AND ec_weight <= $largest$$not_nan ec_weight$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score",
        "ec_weight": "ec_weight"},
    "usable_of_posterior_weighted": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_inner": "CASE WHEN ec_class >= 0 AND ec_score > 0 AND ec_score < 1 THEN ec_score END",
        "ec_times": "CASE WHEN ec_class >= 0 THEN ec_weight END"},
    "logs_of_posterior_weighted": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)",
        "ec_loss_1": "-LN(ec_inner)",
        "ec_times": "ec_times"},
    "values_of_posterior_weighted": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
        "ec_error": "CASE WHEN ec_class = 1 THEN 1 - ec_used ELSE ec_used END",
        "ec_times": "ec_times"},
    "rows_of_percent_weighted": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$",
        "ec_weight": "CAST($weight$ AS $double$)"},
    "classes_of_percent_weighted": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL OR ec_weight IS NULL THEN NULL WHEN ec_score >= 0 AND ec_score <= 100$not_nan ec_score$ AND ec_weight >= 0 AND ec_weight <= $largest$$not_nan ec_weight$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score",
        "ec_weight": "ec_weight"},
    "usable_of_percent_weighted": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_inner": "CASE WHEN ec_class >= 0 AND (ec_score / 100) > 0 AND (ec_score / 100) < 1 THEN (ec_score / 100) END",
        "ec_times": "CASE WHEN ec_class >= 0 THEN ec_weight END"},
    "logs_of_percent_weighted": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)",
        "ec_loss_1": "-LN(ec_inner)",
        "ec_times": "ec_times"},
    "values_of_percent_weighted": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
        "ec_error": "CASE WHEN ec_class = 1 THEN 1 - (ec_used / 100) ELSE (ec_used / 100) END",
        "ec_times": "ec_times"},
    "rows_of_log_odds_weighted": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$",
        "ec_weight": "CAST($weight$ AS $double$)"},
    "classes_of_log_odds_weighted": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL OR ec_weight IS NULL THEN NULL WHEN 1 / (1 + ABS($log_odds$)) >= 0 AND 1 / (1 + ABS($log_odds$)) <= 1$not_nan ec_score$ AND ec_weight >= 0 AND ec_weight <= $largest$$not_nan ec_weight$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score",
        "ec_weight": "ec_weight"},
    "usable_of_log_odds_weighted": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_finite": "CASE WHEN ec_class >= 0 AND $log_odds$ >= -$largest$ AND $log_odds$ <= $largest$ THEN $log_odds$ END",
        "ec_against": "CASE WHEN ec_class = 1 THEN -$log_odds$ WHEN ec_class = 0 THEN $log_odds$ END",
        "ec_times": "CASE WHEN ec_class >= 0 THEN ec_weight END"},
    "logs_of_log_odds_weighted": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_finite": "ec_finite",
        "ec_against": "ec_against",
        "ec_exp": "CASE WHEN ABS(ec_finite) < 745 THEN EXP(-ABS(ec_finite)) ELSE 0 END",
        "ec_times": "ec_times"},
    "values_of_log_odds_weighted": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_log_loss": "CASE WHEN NOT ec_finite IS NULL THEN CASE WHEN ec_against > 0 THEN ec_against ELSE 0 END + LN(1 + ec_exp) - (1 + ec_exp - 1 - ec_exp) / (1 + ec_exp) END",
        "ec_error": "CASE WHEN ec_against > 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END",
        "ec_times": "ec_times"},
    "rows_of_decision_weighted": {
        "ec_score": "CAST($score$ AS $double$)",
        "ec_label": "$label$",
        "ec_weight": "CAST($weight$ AS $double$)"},
    "classes_of_decision_weighted": {
        "ec_class": "CASE WHEN ec_label IS NULL OR ec_score IS NULL OR ec_weight IS NULL THEN NULL WHEN (ec_score = 0 OR ec_score = 1)$not_nan ec_score$ AND ec_weight >= 0 AND ec_weight <= $largest$$not_nan ec_weight$ THEN $class_of_label$ ELSE -1 END",
        "ec_score": "ec_score",
        "ec_weight": "ec_weight"},
    "usable_of_decision_weighted": {
        "ec_class": "ec_class",
        "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
        "ec_times": "CASE WHEN ec_class >= 0 THEN ec_weight END"},
    "logs_of_decision_weighted": {
        "ec_class": "ec_class",
        "ec_used": "ec_used",
        "ec_times": "ec_times"},
    "values_of_decision_weighted": {
        "ec_class": "ec_class",
        "ec_positive": "CASE WHEN $positive$ THEN 1 ELSE 0 END",
        "ec_times": "ec_times"}
}) }}{% endmacro %}

{% macro limit_parts() %}{{ return({
    "known": {
        "ec_rows_0": "CASE WHEN (ec_all_0 > 0) AND ((ec_squares_0 > $1e-280$) AND (ec_squares_0 < $1e+300$)) THEN (ec_all_0 * ec_all_0) / ec_squares_0 END",
        "ec_rows_1": "CASE WHEN (ec_all_1 > 0) AND ((ec_squares_1 > $1e-280$) AND (ec_squares_1 < $1e+300$)) THEN (ec_all_1 * ec_all_1) / ec_squares_1 END"
    },
    "halves": {
        "ec_some": "CASE WHEN NOT ec_rows_0 IS NULL AND NOT ec_rows_1 IS NULL THEN 1 ELSE 0 END",
        "ec_small": "CASE WHEN ec_n >= $min_rows$ AND ec_rows_0 >= 10 AND ec_rows_1 >= 10 THEN 0 ELSE 1 END",
        "ec_half_0": "CASE WHEN (ec_tn + ec_fp) > 0 THEN (ec_sq_tn + ec_sq_fp) / (ec_tn + ec_fp) ELSE 0 END",
        "ec_half_1": "CASE WHEN (ec_fn + ec_tp) > 0 THEN (ec_sq_fn + ec_sq_tp) / (ec_fn + ec_tp) ELSE 0 END",
        "ec_log_loss_known": "CASE WHEN ec_rows_0 > (1 + $1e-09$) AND ec_rows_1 > (1 + $1e-09$) AND ((ec_sum_log_loss2_0 - (ec_sum_log_loss1_0 * (ec_sum_log_loss1_0 / NULLIF(ec_squares_0, 0)))) > ($1e-11$ * ec_sum_log_loss2_0) OR (ec_sum_log_loss2_1 - (ec_sum_log_loss1_1 * (ec_sum_log_loss1_1 / NULLIF(ec_squares_1, 0)))) > ($1e-11$ * ec_sum_log_loss2_1)) THEN 1 ELSE 0 END",
        "ec_brier_known": "CASE WHEN ec_rows_0 > (1 + $1e-09$) AND ec_rows_1 > (1 + $1e-09$) AND ((ec_sum_brier2_0 - (ec_sum_brier1_0 * (ec_sum_brier1_0 / NULLIF(ec_squares_0, 0)))) > ($1e-11$ * ec_sum_brier2_0) OR (ec_sum_brier2_1 - (ec_sum_brier1_1 * (ec_sum_brier1_1 / NULLIF(ec_squares_1, 0)))) > ($1e-11$ * ec_sum_brier2_1)) THEN 1 ELSE 0 END"
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
            "ec_x00": "ec_tn + (ec_half_0 / 2)",
            "ec_x01": "ec_fp + (ec_half_0 / 2)",
            "ec_x10": "ec_fn + (ec_half_1 / 2)",
            "ec_x11": "ec_tp + (ec_half_1 / 2)",
            "ec_a0": "ec_sq_tn + ((ec_half_0 * ec_half_0) / 2)",
            "ec_b0": "$0.0$",
            "ec_c0": "ec_sq_fp + ((ec_half_0 * ec_half_0) / 2)",
            "ec_a1": "ec_sq_fn + ((ec_half_1 * ec_half_1) / 2)",
            "ec_b1": "$0.0$",
            "ec_c1": "ec_sq_tp + ((ec_half_1 * ec_half_1) / 2)"
        },
        "log_loss": {
            "ec_x00": "ec_n0",
            "ec_x01": "ec_sum_log_loss_0",
            "ec_x10": "ec_n1",
            "ec_x11": "ec_sum_log_loss_1",
            "ec_a0": "ec_squares_0",
            "ec_b0": "ec_sum_log_loss1_0",
            "ec_c0": "ec_sum_log_loss2_0",
            "ec_a1": "ec_squares_1",
            "ec_b1": "ec_sum_log_loss1_1",
            "ec_c1": "ec_sum_log_loss2_1"
        },
        "brier": {
            "ec_x00": "ec_n0",
            "ec_x01": "ec_sum_brier_0",
            "ec_x10": "ec_n1",
            "ec_x11": "ec_sum_brier_1",
            "ec_a0": "ec_squares_0",
            "ec_b0": "ec_sum_brier1_0",
            "ec_c0": "ec_sum_brier2_0",
            "ec_a1": "ec_squares_1",
            "ec_b1": "ec_sum_brier1_1",
            "ec_c1": "ec_sum_brier2_1"
        },
        "constant": {
            "ec_x00": "ec_n0",
            "ec_x01": "$0.0$",
            "ec_x10": "ec_n1",
            "ec_x11": "$0.0$",
            "ec_a0": "ec_squares_0",
            "ec_b0": "$0.0$",
            "ec_c0": "$0.0$",
            "ec_a1": "ec_squares_1",
            "ec_b1": "$0.0$",
            "ec_c1": "$0.0$"
        }
    },
    "within_sums": "CASE WHEN ABS($x$) >= $1e-70$ AND ABS($x$) <= $1e+60$ THEN $x$ WHEN ABS($x$) < $1e-70$ THEN 0 END",
    "within_squares": "CASE WHEN ABS($x$) >= $1e-140$ AND ABS($x$) <= $1e+120$ THEN $x$ WHEN ABS($x$) < $1e-140$ THEN 0 END",
    "stencil": "SELECT 0 AS ec_sum, $0.0$ AS ec_change, $0.0$ AS ec_share UNION ALL SELECT 1 AS ec_sum, $1.0$ AS ec_change, $0.6666666666666666$ AS ec_share UNION ALL SELECT 1 AS ec_sum, -$1.0$ AS ec_change, -$0.6666666666666666$ AS ec_share UNION ALL SELECT 1 AS ec_sum, $2.0$ AS ec_change, -$0.08333333333333333$ AS ec_share UNION ALL SELECT 1 AS ec_sum, -$2.0$ AS ec_change, $0.08333333333333333$ AS ec_share UNION ALL SELECT 2 AS ec_sum, $1.0$ AS ec_change, $0.6666666666666666$ AS ec_share UNION ALL SELECT 2 AS ec_sum, -$1.0$ AS ec_change, -$0.6666666666666666$ AS ec_share UNION ALL SELECT 2 AS ec_sum, $2.0$ AS ec_change, -$0.08333333333333333$ AS ec_share UNION ALL SELECT 2 AS ec_sum, -$2.0$ AS ec_change, $0.08333333333333333$ AS ec_share UNION ALL SELECT 3 AS ec_sum, $1.0$ AS ec_change, $0.6666666666666666$ AS ec_share UNION ALL SELECT 3 AS ec_sum, -$1.0$ AS ec_change, -$0.6666666666666666$ AS ec_share UNION ALL SELECT 3 AS ec_sum, $2.0$ AS ec_change, -$0.08333333333333333$ AS ec_share UNION ALL SELECT 3 AS ec_sum, -$2.0$ AS ec_change, $0.08333333333333333$ AS ec_share UNION ALL SELECT 4 AS ec_sum, $1.0$ AS ec_change, $0.6666666666666666$ AS ec_share UNION ALL SELECT 4 AS ec_sum, -$1.0$ AS ec_change, -$0.6666666666666666$ AS ec_share UNION ALL SELECT 4 AS ec_sum, $2.0$ AS ec_change, -$0.08333333333333333$ AS ec_share UNION ALL SELECT 4 AS ec_sum, -$2.0$ AS ec_change, $0.08333333333333333$ AS ec_share",
    "changed": {
        "ec_tn": "ec_x00 + CASE WHEN (ec_sum = 1) THEN ec_change * (ec_x00 * $0.0001$) ELSE 0 END",
        "ec_fp": "ec_x01 + CASE WHEN (ec_sum = 2) THEN ec_change * (ec_x01 * $0.0001$) ELSE 0 END",
        "ec_fn": "ec_x10 + CASE WHEN (ec_sum = 3) THEN ec_change * (ec_x10 * $0.0001$) ELSE 0 END",
        "ec_tp": "ec_x11 + CASE WHEN (ec_sum = 4) THEN ec_change * (ec_x11 * $0.0001$) ELSE 0 END"
    },
    "rates": {
        "ec_n0": "ec_tn + ec_u * ec_fp",
        "ec_n1": "ec_fn + ec_u * ec_tp",
        "ec_r00": "ec_tn / NULLIF(ec_tn + ec_u * ec_fp, 0)",
        "ec_r01": "ec_fp / NULLIF(ec_tn + ec_u * ec_fp, 0)",
        "ec_r10": "ec_fn / NULLIF(ec_fn + ec_u * ec_tp, 0)",
        "ec_r11": "ec_tp / NULLIF(ec_fn + ec_u * ec_tp, 0)",
        "ec_p0": "(ec_tn + ec_u * ec_fp) / NULLIF((ec_tn + ec_u * ec_fp) + (ec_fn + ec_u * ec_tp), 0)",
        "ec_p1": "(ec_fn + ec_u * ec_tp) / NULLIF((ec_fn + ec_u * ec_tp) + (ec_tn + ec_u * ec_fp), 0)"
    },
    "rates_stated": {
        "ec_n0": "ec_tn + ec_u * ec_fp",
        "ec_n1": "ec_fn + ec_u * ec_tp",
        "ec_r00": "ec_tn / NULLIF(ec_tn + ec_u * ec_fp, 0)",
        "ec_r01": "ec_fp / NULLIF(ec_tn + ec_u * ec_fp, 0)",
        "ec_r10": "ec_fn / NULLIF(ec_fn + ec_u * ec_tp, 0)",
        "ec_r11": "ec_tp / NULLIF(ec_fn + ec_u * ec_tp, 0)",
        "ec_p0": "CASE WHEN ec_at_prior = 1 THEN ec_q0 ELSE (ec_tn + ec_u * ec_fp) / NULLIF((ec_tn + ec_u * ec_fp) + (ec_fn + ec_u * ec_tp), 0) END",
        "ec_p1": "CASE WHEN ec_at_prior = 1 THEN ec_q1 ELSE (ec_fn + ec_u * ec_tp) / NULLIF((ec_fn + ec_u * ec_tp) + (ec_tn + ec_u * ec_fp), 0) END"
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
        "f1": "CASE WHEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END > 0 THEN CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END / ((CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + ($0.5$ * CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END)) + ($0.5$ * CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END)) WHEN (CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r10 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) > 0 THEN $0.0$ END",
        "informedness": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END END",
        "mcc": "CASE WHEN (ec_p1 > 0) AND (ec_p0 > 0) THEN (SQRT(ec_p1 * ec_p0) * CASE WHEN ec_r11 > $0.5$ THEN ec_r00 - ec_r10 ELSE ec_r11 - ec_r01 END) / NULLIF(SQRT(((ec_p1 * ec_r11) + (ec_p0 * ec_r01)) * ((ec_p1 * ec_r10) + (ec_p0 * ec_r00))), 0) END",
        "lr_plus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r01 > 0 THEN ec_r11 / ec_r01 WHEN (ec_r01 = 0) AND (ec_r11 > 0) THEN $infinity$ END END",
        "lr_minus": "CASE WHEN NOT (ec_p1 IS NULL) THEN CASE WHEN ec_r00 > 0 THEN ec_r10 / ec_r00 WHEN (ec_r00 = 0) AND (ec_r10 > 0) THEN $infinity$ END END",
        "precision_gain": "CASE WHEN (ec_p1 > 0) AND (ec_p0 > 0) THEN 1 - CASE WHEN ec_r11 > 0 THEN ec_r01 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r01 > 0) THEN $infinity$ END END",
        "recall_gain": "CASE WHEN ((ec_p0 > 0) AND (ec_n0 > 0)) AND ((ec_p1 > 0) OR (ec_r11 > 0)) THEN 1 - ((ec_p1 / ec_p0) * CASE WHEN ec_r11 > 0 THEN ec_r10 / ec_r11 WHEN (ec_r11 = 0) AND (ec_r10 > 0) THEN $infinity$ END) END",
        "cross_entropy": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "nce": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) / NULLIF(CASE WHEN ec_p1 = 0 THEN $0.0$ WHEN ec_p1 > $0.5$ THEN ec_p1 * ((ec_p0 - (1 - (1 - ec_p0))) - LN(1 - ec_p0)) ELSE (-ec_p1) * LN(ec_p1) END + CASE WHEN ec_p0 = 0 THEN $0.0$ WHEN ec_p0 > $0.5$ THEN ec_p0 * ((ec_p1 - (1 - (1 - ec_p1))) - LN(1 - ec_p1)) ELSE (-ec_p0) * LN(ec_p0) END, 0)",
        "brier": "CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END",
        "nbs": "(CASE WHEN ec_p1 = 0 THEN $0.0$ ELSE ec_p1 * ec_r11 END + CASE WHEN ec_p0 = 0 THEN $0.0$ ELSE ec_p0 * ec_r01 END) / NULLIF(ec_p1 * ec_p0, 0)",
        "ec: kink": "(ec_p1 * $cost_fn$) - (ec_p0 * $cost_fp$)"
    },
    "numbers": {
        "ec_number": "CASE WHEN ABS(ec_at_step) >= $0.0$ AND ABS(ec_at_step) <= $1.7976931348623157e+308$ THEN ec_at_step WHEN ABS(ec_at_step) < $0.0$ THEN 0 END"
    },
    "numbers_from_least": {
        "ec_number": "CASE WHEN ABS(ec_at_step) >= $1e-30$ AND ABS(ec_at_step) <= $1e+30$ THEN ec_at_step WHEN ABS(ec_at_step) < $1e-30$ THEN 0 END"
    },
    "slopes": {
        "ec_on": "MAX(ec_scale)",
        "ec_v": "MAX(ec_u)",
        "ec_centre": "MAX(CASE WHEN ec_sum = 0 THEN ec_number END)",
        "ec_x00_": "MAX(ec_x00)",
        "ec_x01_": "MAX(ec_x01)",
        "ec_x10_": "MAX(ec_x10)",
        "ec_x11_": "MAX(ec_x11)",
        "ec_a0_": "MAX(ec_a0)",
        "ec_b0_": "MAX(ec_b0)",
        "ec_c0_": "MAX(ec_c0)",
        "ec_a1_": "MAX(ec_a1)",
        "ec_b1_": "MAX(ec_b1)",
        "ec_c1_": "MAX(ec_c1)",
        "ec_d00": "SUM(CASE WHEN ec_sum = 1 THEN ec_share * ec_number END)",
        "ec_known00": "COUNT(CASE WHEN ec_sum = 1 THEN ec_number END)",
        "ec_d01": "SUM(CASE WHEN ec_sum = 2 THEN ec_share * ec_number END)",
        "ec_known01": "COUNT(CASE WHEN ec_sum = 2 THEN ec_number END)",
        "ec_d10": "SUM(CASE WHEN ec_sum = 3 THEN ec_share * ec_number END)",
        "ec_known10": "COUNT(CASE WHEN ec_sum = 3 THEN ec_number END)",
        "ec_d11": "SUM(CASE WHEN ec_sum = 4 THEN ec_share * ec_number END)",
        "ec_known11": "COUNT(CASE WHEN ec_sum = 4 THEN ec_number END)"
    },
    "before_t": {
        "ec_gradients": {
            "ec_g00": "CASE WHEN ec_x00_ = 0 THEN 0 WHEN ec_known00 = 4 THEN ec_d00 / (ec_x00_ * $0.0001$) END",
            "ec_g01": "CASE WHEN ec_x01_ = 0 THEN 0 WHEN ec_known01 = 4 THEN ec_d01 / (ec_x01_ * $0.0001$) END",
            "ec_g10": "CASE WHEN ec_x10_ = 0 THEN 0 WHEN ec_known10 = 4 THEN ec_d10 / (ec_x10_ * $0.0001$) END",
            "ec_g11": "CASE WHEN ec_x11_ = 0 THEN 0 WHEN ec_known11 = 4 THEN ec_d11 / (ec_x11_ * $0.0001$) END"
        },
        "ec_influences": {
            "ec_i_w_0": "ec_x00_ + (ec_v * ec_x01_)",
            "ec_i_w2_0": "ec_a0_ + (ec_v * ((2 * ec_b0_) + ec_c0_))",
            "ec_i_i_0": "(ec_g00 * ec_x00_) + (ec_g01 * ec_x01_)",
            "ec_i_s_0": "(((ec_g00 * ec_g00) * ec_a0_) + (((2 * ec_g00) * ec_g01) * ec_b0_)) + ((ec_g01 * ec_g01) * ec_c0_)",
            "ec_i_m_0": "(ec_g00 * (ec_a0_ + (ec_v * ec_b0_))) + (ec_g01 * (ec_b0_ + (ec_v * ec_c0_)))",
            "ec_i_w_1": "ec_x10_ + (ec_v * ec_x11_)",
            "ec_i_w2_1": "ec_a1_ + (ec_v * ((2 * ec_b1_) + ec_c1_))",
            "ec_i_i_1": "(ec_g10 * ec_x10_) + (ec_g11 * ec_x11_)",
            "ec_i_s_1": "(((ec_g10 * ec_g10) * ec_a1_) + (((2 * ec_g10) * ec_g11) * ec_b1_)) + ((ec_g11 * ec_g11) * ec_c1_)",
            "ec_i_m_1": "(ec_g10 * (ec_a1_ + (ec_v * ec_b1_))) + (ec_g11 * (ec_b1_ + (ec_v * ec_c1_)))"
        },
        "ec_means_of_class": {
            "ec_m_0": "ec_i_i_0 / NULLIF(ec_i_w_0, 0)",
            "ec_k_0": "CASE WHEN ec_i_w_0 > 0 THEN (ec_i_w_0 * ec_i_w_0) / ec_i_w2_0 ELSE 0 END",
            "ec_m_1": "ec_i_i_1 / NULLIF(ec_i_w_1, 0)",
            "ec_k_1": "CASE WHEN ec_i_w_1 > 0 THEN (ec_i_w_1 * ec_i_w_1) / ec_i_w2_1 ELSE 0 END"
        },
        "ec_parts": {
            "ec_within_0": "CASE WHEN ((ec_i_s_0 - ((2 * ec_m_0) * ec_i_m_0)) + ((ec_m_0 * ec_m_0) * ec_i_w2_0)) > ($1e-13$ * ec_i_s_0) THEN (ec_i_s_0 - ((2 * ec_m_0) * ec_i_m_0)) + ((ec_m_0 * ec_m_0) * ec_i_w2_0) ELSE 0 END * (ec_k_0 / NULLIF(ec_k_0 - 1, 0))",
            "ec_between_0": "(ec_m_0 * ec_m_0) * ec_i_w2_0",
            "ec_within_1": "CASE WHEN ((ec_i_s_1 - ((2 * ec_m_1) * ec_i_m_1)) + ((ec_m_1 * ec_m_1) * ec_i_w2_1)) > ($1e-13$ * ec_i_s_1) THEN (ec_i_s_1 - ((2 * ec_m_1) * ec_i_m_1)) + ((ec_m_1 * ec_m_1) * ec_i_w2_1) ELSE 0 END * (ec_k_1 / NULLIF(ec_k_1 - 1, 0))",
            "ec_between_1": "(ec_m_1 * ec_m_1) * ec_i_w2_1"
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
    "t_middle": {
        "ec_t_start": {
            "ec_k": "(((((((((((((((((((((SQRT((ec_nu / 2) + 10) * EXP(((((((((((-$31.0$) / 18432) / (((ec_nu / 2) + 10) * ((ec_nu / 2) + 10))) + ($17.0$ / 14336)) / (((ec_nu / 2) + 10) * ((ec_nu / 2) + 10))) - ($1.0$ / 640)) / (((ec_nu / 2) + 10) * ((ec_nu / 2) + 10))) + ($1.0$ / 192)) / (((ec_nu / 2) + 10) * ((ec_nu / 2) + 10))) - ($1.0$ / 8)) / ((ec_nu / 2) + 10))) * SQRT(2 / ec_nu)) * ec_nu) / (ec_nu + 1)) * (ec_nu + 2)) / (ec_nu + 3)) * (ec_nu + 4)) / (ec_nu + 5)) * (ec_nu + 6)) / (ec_nu + 7)) * (ec_nu + 8)) / (ec_nu + 9)) * (ec_nu + 10)) / (ec_nu + 11)) * (ec_nu + 12)) / (ec_nu + 13)) * (ec_nu + 14)) / (ec_nu + 15)) * (ec_nu + 16)) / (ec_nu + 17)) * (ec_nu + 18)) / (ec_nu + 19)",
            "ec_z0": "(ABS($normal$) * ((8 * ec_nu) + 3)) / ((8 * ec_nu) + 1)"
        },
        "ec_steps0": {
            "ec_step0": "($mass$ - (((ec_k / SQRT(2 * $3.141592653589793$)) * ec_z0) * ($0.12793819534675202$ * (EXP(((-(ec_z0 * $0.06405689286260563$)) * (ec_z0 * $0.06405689286260563$)) / 2) * SQRT(((((ec_z0 * $0.06405689286260563$) * (ec_z0 * $0.06405689286260563$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.06405689286260563$) * (ec_z0 * $0.06405689286260563$)) / ec_nu) / 2))))) + $0.12583745634682825$ * (EXP(((-(ec_z0 * $0.1911188674736163$)) * (ec_z0 * $0.1911188674736163$)) / 2) * SQRT(((((ec_z0 * $0.1911188674736163$) * (ec_z0 * $0.1911188674736163$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.1911188674736163$) * (ec_z0 * $0.1911188674736163$)) / ec_nu) / 2))))) + $0.1216704729278033$ * (EXP(((-(ec_z0 * $0.3150426796961634$)) * (ec_z0 * $0.3150426796961634$)) / 2) * SQRT(((((ec_z0 * $0.3150426796961634$) * (ec_z0 * $0.3150426796961634$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.3150426796961634$) * (ec_z0 * $0.3150426796961634$)) / ec_nu) / 2))))) + $0.11550566805372552$ * (EXP(((-(ec_z0 * $0.4337935076260451$)) * (ec_z0 * $0.4337935076260451$)) / 2) * SQRT(((((ec_z0 * $0.4337935076260451$) * (ec_z0 * $0.4337935076260451$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.4337935076260451$) * (ec_z0 * $0.4337935076260451$)) / ec_nu) / 2))))) + $0.10744427011596556$ * (EXP(((-(ec_z0 * $0.5454214713888396$)) * (ec_z0 * $0.5454214713888396$)) / 2) * SQRT(((((ec_z0 * $0.5454214713888396$) * (ec_z0 * $0.5454214713888396$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.5454214713888396$) * (ec_z0 * $0.5454214713888396$)) / ec_nu) / 2))))) + $0.09761865210411393$ * (EXP(((-(ec_z0 * $0.6480936519369755$)) * (ec_z0 * $0.6480936519369755$)) / 2) * SQRT(((((ec_z0 * $0.6480936519369755$) * (ec_z0 * $0.6480936519369755$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.6480936519369755$) * (ec_z0 * $0.6480936519369755$)) / ec_nu) / 2))))) + $0.0861901615319532$ * (EXP(((-(ec_z0 * $0.7401241915785544$)) * (ec_z0 * $0.7401241915785544$)) / 2) * SQRT(((((ec_z0 * $0.7401241915785544$) * (ec_z0 * $0.7401241915785544$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.7401241915785544$) * (ec_z0 * $0.7401241915785544$)) / ec_nu) / 2))))) + $0.07334648141108016$ * (EXP(((-(ec_z0 * $0.820001985973903$)) * (ec_z0 * $0.820001985973903$)) / 2) * SQRT(((((ec_z0 * $0.820001985973903$) * (ec_z0 * $0.820001985973903$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.820001985973903$) * (ec_z0 * $0.820001985973903$)) / ec_nu) / 2))))) + $0.05929858491543636$ * (EXP(((-(ec_z0 * $0.8864155270044011$)) * (ec_z0 * $0.8864155270044011$)) / 2) * SQRT(((((ec_z0 * $0.8864155270044011$) * (ec_z0 * $0.8864155270044011$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.8864155270044011$) * (ec_z0 * $0.8864155270044011$)) / ec_nu) / 2))))) + $0.04427743881741941$ * (EXP(((-(ec_z0 * $0.9382745520027328$)) * (ec_z0 * $0.9382745520027328$)) / 2) * SQRT(((((ec_z0 * $0.9382745520027328$) * (ec_z0 * $0.9382745520027328$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.9382745520027328$) * (ec_z0 * $0.9382745520027328$)) / ec_nu) / 2))))) + $0.02853138862893356$ * (EXP(((-(ec_z0 * $0.9747285559713095$)) * (ec_z0 * $0.9747285559713095$)) / 2) * SQRT(((((ec_z0 * $0.9747285559713095$) * (ec_z0 * $0.9747285559713095$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.9747285559713095$) * (ec_z0 * $0.9747285559713095$)) / ec_nu) / 2))))) + $0.01234122979998869$ * (EXP(((-(ec_z0 * $0.9951872199970213$)) * (ec_z0 * $0.9951872199970213$)) / 2) * SQRT(((((ec_z0 * $0.9951872199970213$) * (ec_z0 * $0.9951872199970213$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z0 * $0.9951872199970213$) * (ec_z0 * $0.9951872199970213$)) / ec_nu) / 2)))))))) / (((ec_k * EXP(((-ec_z0) * ec_z0) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z0 * ec_z0) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z0 * ec_z0) / ec_nu) / 2)))))"
        },
        "ec_moved0": {
            "ec_z1": "ec_z0 + (ec_step0 / (1 + ((ec_step0 * ((((1 / ec_z0) - ((ec_z0 / (2 * ec_nu)) * ((1 / TANH(((ec_z0 * ec_z0) / ec_nu) / 2)) - 1))) - ec_z0) + 0)) / 2)))"
        },
        "ec_steps1": {
            "ec_step1": "($mass$ - (((ec_k / SQRT(2 * $3.141592653589793$)) * ec_z1) * ($0.12793819534675202$ * (EXP(((-(ec_z1 * $0.06405689286260563$)) * (ec_z1 * $0.06405689286260563$)) / 2) * SQRT(((((ec_z1 * $0.06405689286260563$) * (ec_z1 * $0.06405689286260563$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.06405689286260563$) * (ec_z1 * $0.06405689286260563$)) / ec_nu) / 2))))) + $0.12583745634682825$ * (EXP(((-(ec_z1 * $0.1911188674736163$)) * (ec_z1 * $0.1911188674736163$)) / 2) * SQRT(((((ec_z1 * $0.1911188674736163$) * (ec_z1 * $0.1911188674736163$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.1911188674736163$) * (ec_z1 * $0.1911188674736163$)) / ec_nu) / 2))))) + $0.1216704729278033$ * (EXP(((-(ec_z1 * $0.3150426796961634$)) * (ec_z1 * $0.3150426796961634$)) / 2) * SQRT(((((ec_z1 * $0.3150426796961634$) * (ec_z1 * $0.3150426796961634$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.3150426796961634$) * (ec_z1 * $0.3150426796961634$)) / ec_nu) / 2))))) + $0.11550566805372552$ * (EXP(((-(ec_z1 * $0.4337935076260451$)) * (ec_z1 * $0.4337935076260451$)) / 2) * SQRT(((((ec_z1 * $0.4337935076260451$) * (ec_z1 * $0.4337935076260451$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.4337935076260451$) * (ec_z1 * $0.4337935076260451$)) / ec_nu) / 2))))) + $0.10744427011596556$ * (EXP(((-(ec_z1 * $0.5454214713888396$)) * (ec_z1 * $0.5454214713888396$)) / 2) * SQRT(((((ec_z1 * $0.5454214713888396$) * (ec_z1 * $0.5454214713888396$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.5454214713888396$) * (ec_z1 * $0.5454214713888396$)) / ec_nu) / 2))))) + $0.09761865210411393$ * (EXP(((-(ec_z1 * $0.6480936519369755$)) * (ec_z1 * $0.6480936519369755$)) / 2) * SQRT(((((ec_z1 * $0.6480936519369755$) * (ec_z1 * $0.6480936519369755$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.6480936519369755$) * (ec_z1 * $0.6480936519369755$)) / ec_nu) / 2))))) + $0.0861901615319532$ * (EXP(((-(ec_z1 * $0.7401241915785544$)) * (ec_z1 * $0.7401241915785544$)) / 2) * SQRT(((((ec_z1 * $0.7401241915785544$) * (ec_z1 * $0.7401241915785544$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.7401241915785544$) * (ec_z1 * $0.7401241915785544$)) / ec_nu) / 2))))) + $0.07334648141108016$ * (EXP(((-(ec_z1 * $0.820001985973903$)) * (ec_z1 * $0.820001985973903$)) / 2) * SQRT(((((ec_z1 * $0.820001985973903$) * (ec_z1 * $0.820001985973903$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.820001985973903$) * (ec_z1 * $0.820001985973903$)) / ec_nu) / 2))))) + $0.05929858491543636$ * (EXP(((-(ec_z1 * $0.8864155270044011$)) * (ec_z1 * $0.8864155270044011$)) / 2) * SQRT(((((ec_z1 * $0.8864155270044011$) * (ec_z1 * $0.8864155270044011$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.8864155270044011$) * (ec_z1 * $0.8864155270044011$)) / ec_nu) / 2))))) + $0.04427743881741941$ * (EXP(((-(ec_z1 * $0.9382745520027328$)) * (ec_z1 * $0.9382745520027328$)) / 2) * SQRT(((((ec_z1 * $0.9382745520027328$) * (ec_z1 * $0.9382745520027328$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.9382745520027328$) * (ec_z1 * $0.9382745520027328$)) / ec_nu) / 2))))) + $0.02853138862893356$ * (EXP(((-(ec_z1 * $0.9747285559713095$)) * (ec_z1 * $0.9747285559713095$)) / 2) * SQRT(((((ec_z1 * $0.9747285559713095$) * (ec_z1 * $0.9747285559713095$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.9747285559713095$) * (ec_z1 * $0.9747285559713095$)) / ec_nu) / 2))))) + $0.01234122979998869$ * (EXP(((-(ec_z1 * $0.9951872199970213$)) * (ec_z1 * $0.9951872199970213$)) / 2) * SQRT(((((ec_z1 * $0.9951872199970213$) * (ec_z1 * $0.9951872199970213$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z1 * $0.9951872199970213$) * (ec_z1 * $0.9951872199970213$)) / ec_nu) / 2)))))))) / (((ec_k * EXP(((-ec_z1) * ec_z1) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z1 * ec_z1) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z1 * ec_z1) / ec_nu) / 2)))))"
        },
        "ec_moved1": {
            "ec_z2": "ec_z1 + (ec_step1 / (1 + ((ec_step1 * ((((1 / ec_z1) - ((ec_z1 / (2 * ec_nu)) * ((1 / TANH(((ec_z1 * ec_z1) / ec_nu) / 2)) - 1))) - ec_z1) + 0)) / 2)))"
        },
        "ec_steps2": {
            "ec_step2": "($mass$ - (((ec_k / SQRT(2 * $3.141592653589793$)) * ec_z2) * ($0.12793819534675202$ * (EXP(((-(ec_z2 * $0.06405689286260563$)) * (ec_z2 * $0.06405689286260563$)) / 2) * SQRT(((((ec_z2 * $0.06405689286260563$) * (ec_z2 * $0.06405689286260563$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.06405689286260563$) * (ec_z2 * $0.06405689286260563$)) / ec_nu) / 2))))) + $0.12583745634682825$ * (EXP(((-(ec_z2 * $0.1911188674736163$)) * (ec_z2 * $0.1911188674736163$)) / 2) * SQRT(((((ec_z2 * $0.1911188674736163$) * (ec_z2 * $0.1911188674736163$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.1911188674736163$) * (ec_z2 * $0.1911188674736163$)) / ec_nu) / 2))))) + $0.1216704729278033$ * (EXP(((-(ec_z2 * $0.3150426796961634$)) * (ec_z2 * $0.3150426796961634$)) / 2) * SQRT(((((ec_z2 * $0.3150426796961634$) * (ec_z2 * $0.3150426796961634$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.3150426796961634$) * (ec_z2 * $0.3150426796961634$)) / ec_nu) / 2))))) + $0.11550566805372552$ * (EXP(((-(ec_z2 * $0.4337935076260451$)) * (ec_z2 * $0.4337935076260451$)) / 2) * SQRT(((((ec_z2 * $0.4337935076260451$) * (ec_z2 * $0.4337935076260451$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.4337935076260451$) * (ec_z2 * $0.4337935076260451$)) / ec_nu) / 2))))) + $0.10744427011596556$ * (EXP(((-(ec_z2 * $0.5454214713888396$)) * (ec_z2 * $0.5454214713888396$)) / 2) * SQRT(((((ec_z2 * $0.5454214713888396$) * (ec_z2 * $0.5454214713888396$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.5454214713888396$) * (ec_z2 * $0.5454214713888396$)) / ec_nu) / 2))))) + $0.09761865210411393$ * (EXP(((-(ec_z2 * $0.6480936519369755$)) * (ec_z2 * $0.6480936519369755$)) / 2) * SQRT(((((ec_z2 * $0.6480936519369755$) * (ec_z2 * $0.6480936519369755$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.6480936519369755$) * (ec_z2 * $0.6480936519369755$)) / ec_nu) / 2))))) + $0.0861901615319532$ * (EXP(((-(ec_z2 * $0.7401241915785544$)) * (ec_z2 * $0.7401241915785544$)) / 2) * SQRT(((((ec_z2 * $0.7401241915785544$) * (ec_z2 * $0.7401241915785544$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.7401241915785544$) * (ec_z2 * $0.7401241915785544$)) / ec_nu) / 2))))) + $0.07334648141108016$ * (EXP(((-(ec_z2 * $0.820001985973903$)) * (ec_z2 * $0.820001985973903$)) / 2) * SQRT(((((ec_z2 * $0.820001985973903$) * (ec_z2 * $0.820001985973903$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.820001985973903$) * (ec_z2 * $0.820001985973903$)) / ec_nu) / 2))))) + $0.05929858491543636$ * (EXP(((-(ec_z2 * $0.8864155270044011$)) * (ec_z2 * $0.8864155270044011$)) / 2) * SQRT(((((ec_z2 * $0.8864155270044011$) * (ec_z2 * $0.8864155270044011$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.8864155270044011$) * (ec_z2 * $0.8864155270044011$)) / ec_nu) / 2))))) + $0.04427743881741941$ * (EXP(((-(ec_z2 * $0.9382745520027328$)) * (ec_z2 * $0.9382745520027328$)) / 2) * SQRT(((((ec_z2 * $0.9382745520027328$) * (ec_z2 * $0.9382745520027328$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.9382745520027328$) * (ec_z2 * $0.9382745520027328$)) / ec_nu) / 2))))) + $0.02853138862893356$ * (EXP(((-(ec_z2 * $0.9747285559713095$)) * (ec_z2 * $0.9747285559713095$)) / 2) * SQRT(((((ec_z2 * $0.9747285559713095$) * (ec_z2 * $0.9747285559713095$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.9747285559713095$) * (ec_z2 * $0.9747285559713095$)) / ec_nu) / 2))))) + $0.01234122979998869$ * (EXP(((-(ec_z2 * $0.9951872199970213$)) * (ec_z2 * $0.9951872199970213$)) / 2) * SQRT(((((ec_z2 * $0.9951872199970213$) * (ec_z2 * $0.9951872199970213$)) / ec_nu) / 2) * (1 + (1 / TANH((((ec_z2 * $0.9951872199970213$) * (ec_z2 * $0.9951872199970213$)) / ec_nu) / 2)))))))) / (((ec_k * EXP(((-ec_z2) * ec_z2) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z2 * ec_z2) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z2 * ec_z2) / ec_nu) / 2)))))"
        },
        "ec_moved2": {
            "ec_z3": "ec_z2 + (ec_step2 / (1 + ((ec_step2 * ((((1 / ec_z2) - ((ec_z2 / (2 * ec_nu)) * ((1 / TANH(((ec_z2 * ec_z2) / ec_nu) / 2)) - 1))) - ec_z2) + 0)) / 2)))"
        },
        "ec_t_end": {
            "ec_t": "EXP(((ec_z3 * ec_z3) / ec_nu) / 2) * SQRT(ec_nu * (2 / (1 + (1 / TANH(((ec_z3 * ec_z3) / ec_nu) / 2)))))"
        }
    },
    "t_tail": {
        "ec_t_start": {
            "ec_k": "(((((((((((((((((((((SQRT((ec_nu / 2) + 10) * EXP(((((((((((-$31.0$) / 18432) / (((ec_nu / 2) + 10) * ((ec_nu / 2) + 10))) + ($17.0$ / 14336)) / (((ec_nu / 2) + 10) * ((ec_nu / 2) + 10))) - ($1.0$ / 640)) / (((ec_nu / 2) + 10) * ((ec_nu / 2) + 10))) + ($1.0$ / 192)) / (((ec_nu / 2) + 10) * ((ec_nu / 2) + 10))) - ($1.0$ / 8)) / ((ec_nu / 2) + 10))) * SQRT(2 / ec_nu)) * ec_nu) / (ec_nu + 1)) * (ec_nu + 2)) / (ec_nu + 3)) * (ec_nu + 4)) / (ec_nu + 5)) * (ec_nu + 6)) / (ec_nu + 7)) * (ec_nu + 8)) / (ec_nu + 9)) * (ec_nu + 10)) / (ec_nu + 11)) * (ec_nu + 12)) / (ec_nu + 13)) * (ec_nu + 14)) / (ec_nu + 15)) * (ec_nu + 16)) / (ec_nu + 17)) * (ec_nu + 18)) / (ec_nu + 19)",
            "ec_z0": "(ABS($normal$) * ((8 * ec_nu) + 3)) / ((8 * ec_nu) + 1)"
        },
        "ec_tails0": {
            "ec_log_tail0": "LN((ec_k / SQRT(2 * $3.141592653589793$)) * ($0.10921834195242515$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $0.04448936583326739$)) / ec_nu) / 2)))))) + $0.2104431079387924$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $0.23452610951961825$)) / ec_nu) / 2)))))) + $0.23521322966984298$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $0.5768846293018863$)) / ec_nu) / 2)))))) + $0.19590333597287354$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $1.072448753817818$)) / ec_nu) / 2)))))) + $0.1299837862860684$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $1.7224087764446456$)) / ec_nu) / 2)))))) + $0.07057862386571556$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $2.5283367064257942$)) / ec_nu) / 2)))))) + $0.03176091250917397$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $3.492213273021994$)) / ec_nu) / 2)))))) + $0.011918214834838204$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $4.616456769749767$)) / ec_nu) / 2)))))) + $0.003738816294611417$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $5.903958504174244$)) / ec_nu) / 2)))))) + $0.0009808033066149246$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $7.358126733186241$)) / ec_nu) / 2)))))) + $0.0002148649188013578$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $8.982940924212597$)) / ec_nu) / 2)))))) + $3.920341967987801e-05$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $10.78301863253997$)) / ec_nu) / 2)))))) + $5.934541612868448e-06$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $12.763697986742725$)) / ec_nu) / 2)))))) + $7.41640457866734e-07$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $14.931139755522558$)) / ec_nu) / 2)))))) + $7.604567879120552e-08$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $17.292454336715316$)) / ec_nu) / 2)))))) + $6.350602226625618e-09$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $19.855860940336054$)) / ec_nu) / 2)))))) + $4.281382971040738e-10$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $22.630889013196775$)) / ec_nu) / 2)))))) + $2.305899491891237e-11$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $25.628636022459247$)) / ec_nu) / 2)))))) + $9.799379288726772e-13$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $28.862101816323474$)) / ec_nu) / 2)))))) + $3.2378016577291567e-14$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z0 * ec_z0) + (2 * $32.346629153964734$)) / ec_nu) / 2)))))))) - ((ec_z0 * ec_z0) / 2)"
        },
        "ec_moved0": {
            "ec_z1": "ec_z0 + (((ec_log_tail0 - LN($beyond$)) / ((((ec_k * EXP(((-ec_z0) * ec_z0) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z0 * ec_z0) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z0 * ec_z0) / ec_nu) / 2))))) / EXP(ec_log_tail0))) / (1 + ((((ec_log_tail0 - LN($beyond$)) / ((((ec_k * EXP(((-ec_z0) * ec_z0) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z0 * ec_z0) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z0 * ec_z0) / ec_nu) / 2))))) / EXP(ec_log_tail0))) * ((((1 / ec_z0) - ((ec_z0 / (2 * ec_nu)) * ((1 / TANH(((ec_z0 * ec_z0) / ec_nu) / 2)) - 1))) - ec_z0) + ((((ec_k * EXP(((-ec_z0) * ec_z0) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z0 * ec_z0) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z0 * ec_z0) / ec_nu) / 2))))) / EXP(ec_log_tail0)))) / 2)))"
        },
        "ec_tails1": {
            "ec_log_tail1": "LN((ec_k / SQRT(2 * $3.141592653589793$)) * ($0.10921834195242515$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $0.04448936583326739$)) / ec_nu) / 2)))))) + $0.2104431079387924$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $0.23452610951961825$)) / ec_nu) / 2)))))) + $0.23521322966984298$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $0.5768846293018863$)) / ec_nu) / 2)))))) + $0.19590333597287354$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $1.072448753817818$)) / ec_nu) / 2)))))) + $0.1299837862860684$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $1.7224087764446456$)) / ec_nu) / 2)))))) + $0.07057862386571556$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $2.5283367064257942$)) / ec_nu) / 2)))))) + $0.03176091250917397$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $3.492213273021994$)) / ec_nu) / 2)))))) + $0.011918214834838204$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $4.616456769749767$)) / ec_nu) / 2)))))) + $0.003738816294611417$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $5.903958504174244$)) / ec_nu) / 2)))))) + $0.0009808033066149246$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $7.358126733186241$)) / ec_nu) / 2)))))) + $0.0002148649188013578$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $8.982940924212597$)) / ec_nu) / 2)))))) + $3.920341967987801e-05$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $10.78301863253997$)) / ec_nu) / 2)))))) + $5.934541612868448e-06$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $12.763697986742725$)) / ec_nu) / 2)))))) + $7.41640457866734e-07$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $14.931139755522558$)) / ec_nu) / 2)))))) + $7.604567879120552e-08$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $17.292454336715316$)) / ec_nu) / 2)))))) + $6.350602226625618e-09$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $19.855860940336054$)) / ec_nu) / 2)))))) + $4.281382971040738e-10$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $22.630889013196775$)) / ec_nu) / 2)))))) + $2.305899491891237e-11$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $25.628636022459247$)) / ec_nu) / 2)))))) + $9.799379288726772e-13$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $28.862101816323474$)) / ec_nu) / 2)))))) + $3.2378016577291567e-14$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z1 * ec_z1) + (2 * $32.346629153964734$)) / ec_nu) / 2)))))))) - ((ec_z1 * ec_z1) / 2)"
        },
        "ec_moved1": {
            "ec_z2": "ec_z1 + (((ec_log_tail1 - LN($beyond$)) / ((((ec_k * EXP(((-ec_z1) * ec_z1) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z1 * ec_z1) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z1 * ec_z1) / ec_nu) / 2))))) / EXP(ec_log_tail1))) / (1 + ((((ec_log_tail1 - LN($beyond$)) / ((((ec_k * EXP(((-ec_z1) * ec_z1) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z1 * ec_z1) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z1 * ec_z1) / ec_nu) / 2))))) / EXP(ec_log_tail1))) * ((((1 / ec_z1) - ((ec_z1 / (2 * ec_nu)) * ((1 / TANH(((ec_z1 * ec_z1) / ec_nu) / 2)) - 1))) - ec_z1) + ((((ec_k * EXP(((-ec_z1) * ec_z1) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z1 * ec_z1) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z1 * ec_z1) / ec_nu) / 2))))) / EXP(ec_log_tail1)))) / 2)))"
        },
        "ec_tails2": {
            "ec_log_tail2": "LN((ec_k / SQRT(2 * $3.141592653589793$)) * ($0.10921834195242515$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $0.04448936583326739$)) / ec_nu) / 2)))))) + $0.2104431079387924$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $0.23452610951961825$)) / ec_nu) / 2)))))) + $0.23521322966984298$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $0.5768846293018863$)) / ec_nu) / 2)))))) + $0.19590333597287354$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $1.072448753817818$)) / ec_nu) / 2)))))) + $0.1299837862860684$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $1.7224087764446456$)) / ec_nu) / 2)))))) + $0.07057862386571556$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $2.5283367064257942$)) / ec_nu) / 2)))))) + $0.03176091250917397$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $3.492213273021994$)) / ec_nu) / 2)))))) + $0.011918214834838204$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $4.616456769749767$)) / ec_nu) / 2)))))) + $0.003738816294611417$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $5.903958504174244$)) / ec_nu) / 2)))))) + $0.0009808033066149246$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $7.358126733186241$)) / ec_nu) / 2)))))) + $0.0002148649188013578$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $8.982940924212597$)) / ec_nu) / 2)))))) + $3.920341967987801e-05$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $10.78301863253997$)) / ec_nu) / 2)))))) + $5.934541612868448e-06$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $12.763697986742725$)) / ec_nu) / 2)))))) + $7.41640457866734e-07$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $14.931139755522558$)) / ec_nu) / 2)))))) + $7.604567879120552e-08$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $17.292454336715316$)) / ec_nu) / 2)))))) + $6.350602226625618e-09$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $19.855860940336054$)) / ec_nu) / 2)))))) + $4.281382971040738e-10$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $22.630889013196775$)) / ec_nu) / 2)))))) + $2.305899491891237e-11$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $25.628636022459247$)) / ec_nu) / 2)))))) + $9.799379288726772e-13$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $28.862101816323474$)) / ec_nu) / 2)))))) + $3.2378016577291567e-14$ * (1 / SQRT(ec_nu * (2 / (1 + (1 / TANH((((ec_z2 * ec_z2) + (2 * $32.346629153964734$)) / ec_nu) / 2)))))))) - ((ec_z2 * ec_z2) / 2)"
        },
        "ec_moved2": {
            "ec_z3": "ec_z2 + (((ec_log_tail2 - LN($beyond$)) / ((((ec_k * EXP(((-ec_z2) * ec_z2) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z2 * ec_z2) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z2 * ec_z2) / ec_nu) / 2))))) / EXP(ec_log_tail2))) / (1 + ((((ec_log_tail2 - LN($beyond$)) / ((((ec_k * EXP(((-ec_z2) * ec_z2) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z2 * ec_z2) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z2 * ec_z2) / ec_nu) / 2))))) / EXP(ec_log_tail2))) * ((((1 / ec_z2) - ((ec_z2 / (2 * ec_nu)) * ((1 / TANH(((ec_z2 * ec_z2) / ec_nu) / 2)) - 1))) - ec_z2) + ((((ec_k * EXP(((-ec_z2) * ec_z2) / 2)) / SQRT(2 * $3.141592653589793$)) * SQRT((((ec_z2 * ec_z2) / ec_nu) / 2) * (1 + (1 / TANH(((ec_z2 * ec_z2) / ec_nu) / 2))))) / EXP(ec_log_tail2)))) / 2)))"
        },
        "ec_t_end": {
            "ec_t": "EXP(((ec_z3 * ec_z3) / ec_nu) / 2) * SQRT(ec_nu * (2 / (1 + (1 / TANH(((ec_z3 * ec_z3) / ec_nu) / 2)))))"
        }
    },
    "after_t": {
        "ec_widths": {
            "ec_at": "CASE WHEN ec_on = 'log' THEN CASE WHEN ec_centre > 0 THEN LN(CASE WHEN (ec_centre) > 0 THEN ec_centre END) END WHEN ec_on = 'ratio' THEN CASE WHEN ec_centre > 0 THEN LN(CASE WHEN (ec_centre) > 0 THEN ec_centre END) END WHEN ec_on = 'logit' THEN CASE WHEN (ec_centre > 0) AND (ec_centre < 1) THEN LN(CASE WHEN (ec_centre) > 0 THEN ec_centre END) + ((ec_centre - (1 - (1 - ec_centre))) - LN(CASE WHEN (1 - ec_centre) > 0 THEN 1 - ec_centre END)) END WHEN ec_on = 'atanh' THEN CASE WHEN ABS(ec_centre) < 1 THEN (LN(CASE WHEN (1 + ec_centre) > 0 THEN 1 + ec_centre END) - LN(CASE WHEN (1 - ec_centre) > 0 THEN 1 - ec_centre END)) / 2 END ELSE ec_centre END",
            "ec_half": "(ec_t * SQRT(ec_variance)) * ABS(CASE WHEN ec_on = 'log' THEN 1 / NULLIF(ec_centre, 0) WHEN ec_on = 'ratio' THEN 1 / NULLIF(ec_centre, 0) WHEN ec_on = 'logit' THEN 1 / NULLIF(ec_centre * (1 - ec_centre), 0) WHEN ec_on = 'atanh' THEN 1 / NULLIF(1 - (ec_centre * ec_centre), 0) ELSE 1 END)"
        },
        "ec_skews": {
            "ec_skew": "CASE WHEN ec_v = 1 THEN CASE WHEN ec_half < 100 THEN (((CASE WHEN ec_on = 'log' THEN 1 WHEN ec_on = 'ratio' THEN 1 WHEN ec_on = 'logit' THEN 1 - (2 * ec_centre) WHEN ec_on = 'atanh' THEN -ec_centre ELSE 0 END * CASE WHEN ec_on = 'atanh' THEN 2 ELSE 1 END) * ec_half) * CASE WHEN ec_on = 'atanh' THEN 2 ELSE 1 END) * ec_half ELSE 0 END ELSE 0 END"
        },
        "ec_skewed": {
            "ec_below": "CASE WHEN (20 * ec_skew) > (ec_t * ec_t) THEN ((ec_skew / 4) + ((ec_skew * ec_skew) / 8)) / CASE WHEN ec_on = 'atanh' THEN 2 ELSE 1 END ELSE 0 END",
            "ec_above": "CASE WHEN (20 * CASE WHEN ec_on = 'ratio' THEN ec_skew ELSE -ec_skew END) > (ec_t * ec_t) THEN ((CASE WHEN ec_on = 'ratio' THEN ec_skew ELSE -ec_skew END / 4) + ((CASE WHEN ec_on = 'ratio' THEN ec_skew ELSE -ec_skew END * CASE WHEN ec_on = 'ratio' THEN ec_skew ELSE -ec_skew END) / 8)) / CASE WHEN ec_on = 'atanh' THEN 2 ELSE 1 END ELSE 0 END"
        }
    },
    "settled": {
        "ec_scale": "MAX(ec_on)",
        "ec_middle": "MAX(ec_centre)",
        "ec_start": "MAX(ec_at)",
        "ec_width": "MAX(ec_half)",
        "ec_down": "MAX(ec_below)",
        "ec_up": "MAX(ec_above)",
        "ec_near": "MAX(CASE WHEN ABS(ec_centre) < 2 * SQRT(ec_variance) THEN 1 ELSE 0 END)"
    },
    "ends": {
        "ec_ends": {
            "ec_low_end": "CASE WHEN ec_value >= -$1.7976931348623157e+308$ AND ec_value <= $1.7976931348623157e+308$ AND ec_start >= -$1.7976931348623157e+308$ AND ec_start <= $1.7976931348623157e+308$ AND ec_width >= -$1.7976931348623157e+308$ AND ec_width <= $1.7976931348623157e+308$ AND ((ec_middle = 0) OR ((ABS(ec_middle) > $1e-140$) AND (ABS(ec_middle) < $1e+140$))) AND ((NOT ec_scale IN ('log', 'ratio')) OR ((ec_start + ec_width + ec_up) < $709.78$)) THEN CASE WHEN ec_scale = 'log' THEN CASE WHEN (ec_start - ec_width - ec_down) < -$708.0$ THEN $0.0$ WHEN (ec_start - ec_width - ec_down) > $709.78$ THEN $infinity$ ELSE EXP(ec_start - ec_width - ec_down) END WHEN ec_scale = 'ratio' THEN CASE WHEN (ec_start - ec_width - ec_down) < -$708.0$ THEN $0.0$ WHEN (ec_start - ec_width - ec_down) > $709.78$ THEN $infinity$ ELSE EXP(ec_start - ec_width - ec_down) END WHEN ec_scale = 'logit' THEN 1 / (1 + CASE WHEN (-(ec_start - ec_width - ec_down)) < -$708.0$ THEN $0.0$ WHEN (-(ec_start - ec_width - ec_down)) > $709.78$ THEN $infinity$ ELSE EXP(-(ec_start - ec_width - ec_down)) END) WHEN ec_scale = 'atanh' THEN TANH(ec_start - ec_width - ec_down) ELSE ec_start - ec_width - ec_down END END",
            "ec_high_end": "CASE WHEN ec_value >= -$1.7976931348623157e+308$ AND ec_value <= $1.7976931348623157e+308$ AND ec_start >= -$1.7976931348623157e+308$ AND ec_start <= $1.7976931348623157e+308$ AND ec_width >= -$1.7976931348623157e+308$ AND ec_width <= $1.7976931348623157e+308$ AND ((ec_middle = 0) OR ((ABS(ec_middle) > $1e-140$) AND (ABS(ec_middle) < $1e+140$))) AND ((NOT ec_scale IN ('log', 'ratio')) OR ((ec_start + ec_width + ec_up) < $709.78$)) THEN CASE WHEN ec_scale = 'log' THEN CASE WHEN (ec_start + ec_width + ec_up) < -$708.0$ THEN $0.0$ WHEN (ec_start + ec_width + ec_up) > $709.78$ THEN $infinity$ ELSE EXP(ec_start + ec_width + ec_up) END WHEN ec_scale = 'ratio' THEN CASE WHEN (ec_start + ec_width + ec_up) < -$708.0$ THEN $0.0$ WHEN (ec_start + ec_width + ec_up) > $709.78$ THEN $infinity$ ELSE EXP(ec_start + ec_width + ec_up) END WHEN ec_scale = 'logit' THEN 1 / (1 + CASE WHEN (-(ec_start + ec_width + ec_up)) < -$708.0$ THEN $0.0$ WHEN (-(ec_start + ec_width + ec_up)) > $709.78$ THEN $infinity$ ELSE EXP(-(ec_start + ec_width + ec_up)) END) WHEN ec_scale = 'atanh' THEN TANH(ec_start + ec_width + ec_up) ELSE ec_start + ec_width + ec_up END END"
        },
        "ec_held": {
            "ec_low": "CASE WHEN ec_low_end < ec_value THEN ec_low_end WHEN ec_low_end >= ec_value THEN ec_value END",
            "ec_high": "CASE WHEN ec_high_end > ec_value THEN ec_high_end WHEN ec_high_end <= ec_value THEN ec_value END"
        }
    },
    "tail": 0.03,
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
    }
}) }}{% endmacro %}

"""The papers that the package rests on, computed again: every equation, table, figure and procedure, beside what is printed."""

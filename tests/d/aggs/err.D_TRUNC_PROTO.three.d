/* trunc takes an aggregation and at most a number. */
BEGIN { @a = count(); trunc(@a, 1, 2); }

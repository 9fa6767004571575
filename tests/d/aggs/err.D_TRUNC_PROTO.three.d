/* trunc takes an aggregation and at most one number. */
BEGIN { @a = count(); trunc(@a, 1, 2); }

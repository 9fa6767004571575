/* An aggregation is not printed by print. */
BEGIN { @a = count(); print(@a); }

/* An aggregation cannot be printed by print. */
BEGIN { @a = count(); print(@a); }

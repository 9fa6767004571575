/* normalize takes an aggregation and a number. */
BEGIN { @a = count(); normalize(@a); }

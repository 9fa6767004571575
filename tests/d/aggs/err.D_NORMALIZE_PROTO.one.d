/* normalize needs an aggregation and a number. */
BEGIN { @a = count(); normalize(@a); }

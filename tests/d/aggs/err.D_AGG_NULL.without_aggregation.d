/* An aggregating function is assigned to an aggregation. */
BEGIN { count(); }

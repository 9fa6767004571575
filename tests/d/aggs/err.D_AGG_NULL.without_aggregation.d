/* An aggregating function must be assigned to an aggregation. */
BEGIN { count(); }

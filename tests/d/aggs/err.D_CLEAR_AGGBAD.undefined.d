/* The aggregation that is passed to clear must exist. */
BEGIN { clear(@never); }

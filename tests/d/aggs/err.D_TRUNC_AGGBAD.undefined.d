/* The aggregation that is passed to trunc must exist. */
BEGIN { trunc(@never); }

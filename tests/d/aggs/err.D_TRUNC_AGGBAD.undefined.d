/* trunc takes an aggregation that exists. */
BEGIN { trunc(@never); }

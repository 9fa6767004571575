/* clear takes an aggregation that exists. */
BEGIN { clear(@never); }

/* denormalize takes an aggregation that exists. */
BEGIN { denormalize(@never); }

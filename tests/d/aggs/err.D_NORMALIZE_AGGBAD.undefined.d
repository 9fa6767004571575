/* The aggregation that is passed to denormalize must exist. */
BEGIN { denormalize(@never); }

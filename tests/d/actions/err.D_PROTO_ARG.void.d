/* What has no value is no argument. */
BEGIN { exit((void)0); }

/* What has no value has no conversion. */
BEGIN { printf("%d\n", (void)1); }

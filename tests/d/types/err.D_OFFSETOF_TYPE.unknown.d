/* What has no members known has no offsets. */
BEGIN { trace(offsetof(struct nowhere, a)); }

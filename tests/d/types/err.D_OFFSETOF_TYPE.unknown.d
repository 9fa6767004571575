/* A type without known members has no offsets. */
BEGIN { trace(offsetof(struct nowhere, a)); }

/* The number of frames of ustack must not be negative. */
BEGIN { ustack(-1); }

/* A variable that is never assigned is unknown. */
BEGIN { trace(never); }

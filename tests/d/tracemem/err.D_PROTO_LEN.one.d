/* tracemem takes an address and a size. */
BEGIN { tracemem("abc"); }

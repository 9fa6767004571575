/* What printa prints is an aggregation. */
BEGIN { @ = count(); printa(1); }

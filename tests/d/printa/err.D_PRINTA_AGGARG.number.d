/* printa prints only aggregations. */
BEGIN { @ = count(); printa(1); }

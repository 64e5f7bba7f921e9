SELECT json_extract('{"a":[1,2]}', '$.a[1]'), value FROM json_each('[1,"x",null]');
SELECT strftime('%Y-%m', 'now', '+1 day'), printf('%5.2f', 3.14159), group_concat(DISTINCT 1);

-- What older versions kept in the events of endpoints that were deleted for good.
UPDATE erasure SET due = due + 1 WHERE EXISTS (SELECT 1 FROM events WHERE type LIKE 'webhook.endpoint.%');
UPDATE events SET data = json_replace(data, '$.url', NULL) WHERE type LIKE 'webhook.endpoint.%' AND NOT EXISTS
    (SELECT 1 FROM endpoints WHERE id = json_extract(data, '$.endpoint_id') AND deleted = 0);

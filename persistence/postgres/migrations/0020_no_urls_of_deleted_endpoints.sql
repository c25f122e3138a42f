-- What older versions kept in the events of endpoints that were deleted for good.
UPDATE erasure SET due = due + 1 WHERE EXISTS (SELECT 1 FROM events WHERE type LIKE 'webhook.endpoint.%');
UPDATE events SET data = CAST(jsonb_set(CAST(data AS jsonb), '{url}', 'null', false) AS text)
WHERE type LIKE 'webhook.endpoint.%' AND NOT EXISTS
    (SELECT 1 FROM endpoints WHERE id = CAST(data AS jsonb) ->> 'endpoint_id' AND deleted = 0);

-- The planner's statistics hold samples of columns, which stay when the rows are erased: ANALYZE replaces them only while
-- the table has rows. So columns with texts and names of users have none. Look-ups by them go by an index.
ALTER TABLE users
    ALTER name SET STATISTICS 0,
    ALTER name_key SET STATISTICS 0,
    ALTER description SET STATISTICS 0,
    ALTER profile SET STATISTICS 0,
    ALTER secret_hash SET STATISTICS 0;
ALTER TABLE agents
    ALTER name SET STATISTICS 0,
    ALTER name_key SET STATISTICS 0,
    ALTER description SET STATISTICS 0,
    ALTER profile SET STATISTICS 0;
ALTER TABLE domains
    ALTER name SET STATISTICS 0,
    ALTER name_key SET STATISTICS 0,
    ALTER description SET STATISTICS 0,
    ALTER profile SET STATISTICS 0;
ALTER TABLE zones
    ALTER name SET STATISTICS 0,
    ALTER name_key SET STATISTICS 0;
ALTER TABLE membership_events
    ALTER record SET STATISTICS 0;
ALTER TABLE banks
    ALTER name SET STATISTICS 0,
    ALTER name_key SET STATISTICS 0,
    ALTER description SET STATISTICS 0;
ALTER TABLE memories
    ALTER name SET STATISTICS 0,
    ALTER text SET STATISTICS 0;
ALTER TABLE messages
    ALTER name SET STATISTICS 0,
    ALTER content SET STATISTICS 0,
    ALTER sources SET STATISTICS 0;
ALTER TABLE zone_messages
    ALTER name SET STATISTICS 0,
    ALTER content SET STATISTICS 0,
    ALTER sources SET STATISTICS 0;
ALTER TABLE documents
    ALTER name SET STATISTICS 0,
    ALTER media_type SET STATISTICS 0,
    ALTER metadata SET STATISTICS 0,
    ALTER content SET STATISTICS 0,
    ALTER error SET STATISTICS 0;
ALTER TABLE document_parts
    ALTER text SET STATISTICS 0;
ALTER TABLE indexed_texts
    ALTER whole SET STATISTICS 0,
    ALTER terms SET STATISTICS 0;
ALTER TABLE vocabulary
    ALTER term SET STATISTICS 0;
ALTER TABLE credentials
    ALTER token_hash SET STATISTICS 0,
    ALTER name SET STATISTICS 0,
    ALTER prefix SET STATISTICS 0;
ALTER TABLE kept_answers
    ALTER fingerprint SET STATISTICS 0,
    ALTER answer SET STATISTICS 0;
ALTER TABLE events
    ALTER data SET STATISTICS 0;
ALTER TABLE audit
    ALTER address SET STATISTICS 0,
    ALTER service SET STATISTICS 0,
    ALTER target SET STATISTICS 0;
ALTER TABLE endpoints
    ALTER url SET STATISTICS 0,
    ALTER events SET STATISTICS 0,
    ALTER description SET STATISTICS 0,
    ALTER secrets SET STATISTICS 0,
    ALTER disabled_reason SET STATISTICS 0;
ALTER TABLE attempts
    ALTER error SET STATISTICS 0,
    ALTER response SET STATISTICS 0;
ALTER TABLE tool_servers
    ALTER name SET STATISTICS 0,
    ALTER name_key SET STATISTICS 0,
    ALTER entry SET STATISTICS 0,
    ALTER url SET STATISTICS 0,
    ALTER headers SET STATISTICS 0,
    ALTER offers SET STATISTICS 0;
ALTER TABLE skills
    ALTER name SET STATISTICS 0,
    ALTER description SET STATISTICS 0,
    ALTER license SET STATISTICS 0,
    ALTER compatibility SET STATISTICS 0,
    ALTER metadata SET STATISTICS 0,
    ALTER allowed_tools SET STATISTICS 0,
    ALTER body SET STATISTICS 0;
ALTER TABLE skill_files
    ALTER skill SET STATISTICS 0,
    ALTER path SET STATISTICS 0,
    ALTER content SET STATISTICS 0;

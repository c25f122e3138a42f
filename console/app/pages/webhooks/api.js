import { route } from "../../lib/api.js";

const ENDPOINTS = "/api/webhooks/endpoints";

export const listEndpoints = async () => (await route("GET", ENDPOINTS)).endpoints;
export const createEndpoint = (body) => route("POST", ENDPOINTS, { body });
export const changeEndpoint = (id, body) => route("PATCH", `${ENDPOINTS}/${id}`, { body });
export const deleteEndpoint = (id, hard) => route("DELETE", `${ENDPOINTS}/${id}`, { query: { hard: hard || null } });
export const recover = (id, since) => route("POST", `${ENDPOINTS}/${id}/recover`, { body: { since } });
export const eventTypes = async () => (await route("GET", "/api/webhooks/events")).events;
export const listDeliveries = (query) => route("GET", "/api/webhooks/deliveries", { query });
export const retryDelivery = (id) => route("POST", `/api/webhooks/deliveries/${id}/retry`);
export const sendTest = (eventType, data) => route("POST", "/api/webhooks/test", { body: { event_type: eventType, data } });

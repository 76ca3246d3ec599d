-- The health of a StorageBenchmark for Argo CD: resource.customizations.health.storagebench.io_StorageBenchmark
-- in the ConfigMap argocd-cm. The conditions are explained in docs/reference/conditions.md.
local health = {status = "Progressing", message = "the operator has not seen this benchmark yet"}
if obj.metadata.deletionTimestamp ~= nil then
  health.message = "it is being deleted: Jobs, volumes and changed settings are removed first"
  return health
end
if obj.status == nil or obj.status.conditions == nil then
  return health
end
if obj.status.observedGeneration ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  health.message = "the operator has not seen this version of the spec yet"
  return health
end
local ready, stalled
for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Ready" then ready = condition end
  if condition.type == "Stalled" and condition.status == "True" then stalled = condition end
end
if stalled ~= nil then
  health.status = "Degraded"
  health.message = stalled.message
elseif ready ~= nil and ready.status == "True" then
  health.status = "Healthy"
  health.message = ready.message
  if obj.status.headline ~= nil and obj.status.headline ~= "" then health.message = obj.status.headline end
elseif ready ~= nil and ready.reason == "Suspended" then
  health.status = "Suspended"
  health.message = ready.message
elseif ready ~= nil then
  health.message = ready.message
end
return health

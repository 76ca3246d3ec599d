-- The health of a StorageBenchmarkSchedule for Argo CD: resource.customizations.health.storagebench.io_StorageBenchmarkSchedule
-- in the ConfigMap argocd-cm. A suspended one is Healthy: Suspended would block the Application's sync waves.
local health = {status = "Progressing", message = "the operator has not seen this schedule yet"}
if obj.metadata.deletionTimestamp ~= nil then
  health.message = "it is being deleted"
  return health
end
if obj.status == nil or obj.status.conditions == nil then
  return health
end
if obj.status.observedGeneration ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  health.message = "the operator has not seen this version of the spec yet"
  return health
end
local ready, stalled, regressed
for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Ready" then ready = condition end
  if condition.type == "Stalled" and condition.status == "True" then stalled = condition end
  if condition.type == "Regressed" and condition.status == "True" then regressed = condition end
end
if stalled ~= nil then
  health.status = "Degraded"
  health.message = stalled.message
elseif ready ~= nil and ready.status == "True" then
  health.status = "Healthy"
  health.message = ready.message
  if regressed ~= nil then health.message = regressed.message end
elseif ready ~= nil then
  health.message = ready.message
end
return health

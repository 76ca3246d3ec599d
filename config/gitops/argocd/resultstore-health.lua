-- The health of a ResultStore for Argo CD: resource.customizations.health.storagebench.io_ResultStore
-- in the ConfigMap argocd-cm.
local health = {status = "Progressing", message = "the operator has not tried this store yet"}
if obj.status == nil or obj.status.conditions == nil then
  return health
end
if obj.status.observedGeneration ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  health.message = "the operator has not seen this version of the spec yet"
  return health
end
for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Available" then
    health.message = condition.message
    if condition.status == "True" then health.status = "Healthy" end
    if condition.status == "False" then health.status = "Degraded" end
  end
end
return health

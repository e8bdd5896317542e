-- Degraded: it needs a person. Progressing: a roll is under way, or the operator has not looked yet.
-- Suspended: a person or the freeze switch keeps it still. Else Healthy: what it cannot see or do
-- just now is told in the message, and is no failure of what Git holds.
local function told(status, condition)
  return { status = status, message = condition.reason .. ": " .. condition.message }
end

if obj.status == nil or obj.status.conditions == nil then
  return { status = "Progressing", message = "Waiting for the operator to look at it" }
end
if obj.status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "Waiting for the operator to see the latest spec" }
end

local standing = {}
for _, condition in ipairs(obj.status.conditions) do
  standing[condition.type] = condition
end
local function stands(kind, status)
  return standing[kind] ~= nil and standing[kind].status == status
end

if stands("Stalled", "True") then
  return told("Degraded", standing["Stalled"])
end
if stands("Suspended", "True") then
  return told("Suspended", standing["Suspended"])
end
if stands("Reconciling", "True") then
  return told("Progressing", standing["Reconciling"])
end
if stands("Ready", "False") then
  return told("Degraded", standing["Ready"])
end
if not stands("Ready", "True") then
  return { status = "Progressing", message = "Waiting for the condition Ready" }
end
for _, kind in ipairs({ "TelemetryAvailable", "SchedulesValid", "PredictionFits", "ProofFresh" }) do
  if stands(kind, "False") then
    return told("Healthy", standing[kind])
  end
end
if obj.status.activeProfile ~= nil then
  return { status = "Healthy", message = "Runs " .. obj.status.activeProfile }
end
return told("Healthy", standing["Ready"])
